//! Writes skills as JSON in the form of the skills extension.

use crate::wire::json_writer::{Object, object};
use larder_skills::{Skill, SkillFile};

/// Returns a skill as JSON. It is rendered once and then shared by all requests.
pub(crate) fn skill_json(skill: &Skill) -> &[u8] {
    skill
        .rendered
        .get_or_render(|| object(|o| self::skill(o, skill)))
}

fn skill(o: &mut Object<'_>, skill: &Skill) {
    o.text("uri", skill.uri().as_str());
    o.raw("frontmatter", &skill.front_matter.json);
    o.objects("resources", &skill.files, |o, file| self::file(o, file));
}

fn file(o: &mut Object<'_>, file: &SkillFile) {
    o.text("uri", file.uri.as_str());
    o.text("digest", &format!("sha256:{}", file.digest));
    o.integer("size", file.size);
}
