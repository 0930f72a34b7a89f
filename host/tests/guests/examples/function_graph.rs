//! Exports functions with nested records: equal in interface to the memory component of another host, in part. The graph
//! is a file, because a guest is new for each call.

wit_bindgen::generate!({
    inline: r#"
        package guests:memory;

        interface knowledge-graph-ops {
            record entity { name: string, entity-type: string, observations: list<string> }
            record relation { from-entity: string, to-entity: string, relation-type: string }
            record knowledge-graph { entities: list<entity>, relations: list<relation> }

            create-entities: func(entities: list<entity>) -> result<list<entity>, string>;
            delete-entities: func(entity-names: list<string>) -> result<_, string>;
            read-graph: func() -> result<knowledge-graph, string>;
        }

        world memory {
            export knowledge-graph-ops;
        }
    "#,
});

use exports::guests::memory::knowledge_graph_ops::{Entity, Guest, KnowledgeGraph};

const FILE: &str = "/data/graph.txt";

struct Component;

fn read() -> Vec<Entity> {
    let text = std::fs::read_to_string(FILE).unwrap_or_default();
    let entity = |line: &str| {
        let mut parts = line.split('\t').map(ToOwned::to_owned);
        Some(Entity {
            name: parts.next()?,
            entity_type: parts.next()?,
            observations: parts.collect(),
        })
    };
    text.lines().filter_map(entity).collect()
}

fn write(entities: &[Entity]) -> Result<(), String> {
    let line = |entity: &Entity| {
        let mut parts = vec![entity.name.clone(), entity.entity_type.clone()];
        parts.extend(entity.observations.iter().cloned());
        parts.join("\t") + "\n"
    };
    let text: String = entities.iter().map(line).collect();
    std::fs::write(FILE, text).map_err(|error| error.to_string())
}

impl Guest for Component {
    fn create_entities(entities: Vec<Entity>) -> Result<Vec<Entity>, String> {
        let mut all = read();
        let is_new = |entity: &Entity| all.iter().all(|known| known.name != entity.name);
        let new: Vec<_> = entities.into_iter().filter(is_new).collect();
        all.extend(new.iter().cloned());
        write(&all)?;
        Ok(new)
    }

    fn delete_entities(entity_names: Vec<String>) -> Result<(), String> {
        let mut all = read();
        all.retain(|entity| !entity_names.contains(&entity.name));
        write(&all)
    }

    fn read_graph() -> Result<KnowledgeGraph, String> {
        Ok(KnowledgeGraph {
            entities: read(),
            relations: Vec::new(),
        })
    }
}

export!(Component);
