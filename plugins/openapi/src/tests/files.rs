//! A document in several files of a folder, as many publishers keep theirs.

use std::path::Path;

use larder_provider::{Provider as _, Query, Request, set_setting};
use serde_json::{Value, json};

use super::{call, read};
use crate::{OpenApi, schema, tools};

const MAIN: &str = r##"
openapi: 3.0.3
info: { title: Pet shop, version: "1" }
servers: [{ url: "https://api.example" }]
paths:
  /pets: { $ref: "paths/pets.yaml" }
  /pets/{id}:
    delete: { $ref: "paths/pet.yaml#/delete" }
    put: { $ref: paths/gone.yaml }
    patch: { $ref: "https://evil.example/x.yaml" }
    get: { $ref: "../outside.yaml#/get" }
  /lost: { $ref: "paths/lost.yaml" }
components:
  schemas:
    Id: { type: string, description: The name of a pet. }
"##;
const PETS: &str = r##"
get:
  operationId: listPets
  summary: Lists the pets
  parameters: [{ $ref: "../parameters.json#/limit" }]
  responses: { 200: { description: ok, content: { application/json: { schema: { type: array, items: { $ref: "../models/pet.yaml" } } } } } }
post:
  operationId: addPet
  description: Adds a pet.
  requestBody: { required: true, content: { application/json: { schema: { $ref: "../models/pet.yaml" } } } }
  responses: {}
"##;
const PET: &str = r##"
delete:
  operationId: removePet
  description: Removes a pet.
  parameters: [{ name: id, in: path, required: true, schema: { $ref: "../api.yaml#/components/schemas/Id" } }]
  requestBody: { $ref: "#/bodies/reason" }
  responses: {}
bodies:
  reason: { required: true, content: { application/json: { schema: { type: object, required: [reason], properties: { reason: { type: string } } } } } }
"##;
const MODEL: &str = r##"
type: object
description: A pet.
required: [name]
properties:
  name: { type: string }
  parent: { $ref: "./pet.yaml" }
"##;

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn provider() -> (OpenApi, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(
        root,
        "outside.yaml",
        "get: { description: not for this provider }",
    );
    write(root, "api/api.yaml", MAIN);
    write(root, "api/paths/pets.yaml", PETS);
    write(root, "api/paths/pet.yaml", PET);
    write(root, "api/models/pet.yaml", MODEL);
    write(
        root,
        "api/parameters.json",
        r#"{ "limit": { "name": "limit", "in": "query", "schema": { "type": "integer" } } }"#,
    );
    set_setting("document", root.join("api/api.yaml").to_str().unwrap());
    set_setting("name", "shop");
    (OpenApi::new().unwrap(), folder)
}

#[test]
fn files_of_the_folder_are_followed() {
    let (provider, _folder) = provider();
    let api = provider.api().unwrap();
    let arguments = |name: &str| {
        let operation = api
            .operations
            .iter()
            .find(|operation| operation.name == name)
            .unwrap();
        schema::arguments(&api.document, &operation.inputs(&api.document).unwrap())
    };
    let pet = json!({ "type": "object", "description": "A pet.", "required": ["name"],
        "properties": { "name": { "type": "string" }, "parent": { "$ref": "#/$defs/pet" } } });
    assert_eq!(
        arguments("addPet")["properties"]["body"],
        json!({ "$ref": "#/$defs/pet" })
    );
    assert_eq!(arguments("addPet")["$defs"], json!({ "pet": pet }));
    assert_eq!(
        arguments("listPets")["properties"]["limit"],
        json!({ "type": "integer" })
    );
    let delete = arguments("removePet");
    assert_eq!(delete["required"], json!(["id", "body"]));
    assert_eq!(delete["properties"]["body"]["required"], json!(["reason"]));
    assert_eq!(delete["$defs"]["Id"]["description"], "The name of a pet.");
    let (_, requests) = call(
        &provider,
        "removePet",
        json!({ "id": "rex", "body": { "reason": "sold" } }),
    )
    .unwrap();
    assert_eq!(
        (requests[0].method.as_str(), requests[0].url.as_str()),
        ("DELETE", "https://api.example/pets/rex")
    );
    assert_eq!(requests[0].body, br#"{"reason":"sold"}"#);
}

#[test]
fn what_cannot_be_followed_is_no_tool_and_says_why() {
    let (provider, _folder) = provider();
    let api = provider.api().unwrap();
    let callable = api
        .operations
        .iter()
        .filter(|operation| operation.inputs(&api.document).is_ok());
    let names: Vec<_> = callable.map(|operation| operation.name.as_str()).collect();
    assert_eq!(names, ["listPets", "addPet", "removePet"]);
    assert_eq!(tools::all(&api, &provider.settings).len(), 3);
    let page =
        |name: &str| read(&provider, "operations/{operation}", &[("operation", name)]).unwrap();
    let check = |name: &str, reason: &str| {
        let page = page(name);
        assert!(
            page.contains("No tool can call this operation: ") && page.contains(reason),
            "{page}"
        );
    };
    check("put_pets_id", "`paths/gone.yaml`");
    check(
        "patch_pets_id",
        "`https://evil.example/x.yaml`, which is not supported",
    );
    check("get_pets_id", "`../outside.yaml#/get`");
    assert!(
        !read(&provider, "document.json", &[])
            .unwrap()
            .contains("not for this provider")
    );
}

#[test]
fn the_resources_contain_what_was_followed() {
    let (provider, _folder) = provider();
    let list = read(
        &provider,
        "operations/{operation}",
        &[("operation", "listPets")],
    )
    .unwrap();
    assert!(
        list.contains("# GET /pets")
            && list.contains("| `limit` | query |")
            && list.contains("list of `pet`"),
        "{list}"
    );
    let json = read(
        &provider,
        "operations/{operation}/json",
        &[("operation", "addPet")],
    )
    .unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    let components = json["components"].as_object().unwrap();
    assert!(
        components
            .values()
            .any(|component| component["description"] == "A pet."),
        "{json:#}"
    );
    assert!(
        provider
            .list(&Query::new(99))
            .unwrap()
            .entries
            .iter()
            .any(|it| it.name == "removePet")
    );
}

#[test]
fn a_change_of_any_file_is_a_new_version() {
    let (provider, folder) = provider();
    let uri = "openapi://shop/".to_owned();
    let version = || provider.versions(std::slice::from_ref(&uri)).unwrap()[0].clone();
    let before = version();
    assert_eq!(provider.read(&Request::new(&uri)).unwrap().version, before);
    write(folder.path(), "api/models/pet.yaml", "type: string");
    assert_ne!(version(), before);
}

#[test]
fn only_documents_are_read_and_their_sizes_count() {
    let (_, folder) = provider();
    let root = folder.path();
    write(root, "api/secret.txt", "hush: hush");
    write(root, "api/loop.yaml", "get: { $ref: 'loop.yaml#/get' }");
    write(root, "api/bad.yaml", "a: [");
    write(
        root,
        "api/main.yaml",
        "openapi: 3.0.0\npaths:\n  /a: { get: { $ref: secret.txt }, put: { $ref: 'loop.yaml#/get' }, \
        post: { $ref: bad.yaml }, delete: { operationId: fine, responses: {} } }\n",
    );
    set_setting("document", root.join("api/main.yaml").to_str().unwrap());
    let provider = OpenApi::new().unwrap();
    let api = provider.api().unwrap();
    assert_eq!(tools::all(&api, &provider.settings).len(), 1);
    assert!(
        !read(&provider, "document.json", &[])
            .unwrap()
            .contains("hush: hush")
    );
    // A file that is too large is not followed either.
    write(
        root,
        "api/loop.yaml",
        &format!("get: {{ operationId: long }}\n{}", "# long\n".repeat(1000)),
    );
    set_setting("max_document", "1KiB");
    let provider = OpenApi::new().unwrap();
    let page = read(
        &provider,
        "operations/{operation}",
        &[("operation", "put_a")],
    )
    .unwrap();
    assert!(
        page.contains("larger than the limit of 1 KiB (setting `max_document`)"),
        "{page}"
    );
    assert!(
        read(
            &provider,
            "operations/{operation}",
            &[("operation", "fine")]
        )
        .unwrap()
        .contains("Tool: `fine`")
    );
}
