//! `larder skills lint`: checks folders with skills, before a server offers them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueHint};
use serde_json::json;

use crate::cli::error::CommandError;
use crate::cli::{Outcome, out, sanitize};
use larder_model::resource::{Body, Content, Details, Entry, RenderCache};
use larder_model::size;
use larder_model::uri::Uri;
use larder_skills::{NotASkill, Skill, SkillFile, SkillFolder, skill_folders};

/// The maximum length of a description in characters, from the specification of skills.
const MAX_DESCRIPTION: usize = 1024;

/// Check folders with skills, without a server
///
/// Finds each folder with a SKILL.md, and applies the rules of the server. Files and folders whose names begin with a dot
/// are ignored, and links are not followed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if a folder with a SKILL.md is not a skill, or if there is none.

Example:
  larder skills lint skills/"
)]
pub(super) struct Lint {
    /// Folders that contain skills
    #[arg(value_name = "FOLDER", default_value = ".", value_hint = ValueHint::DirPath)]
    folders: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A folder with a `SKILL.md`.
struct CheckedFolder {
    skill_md: String,
    skill: Result<Skill, NotASkill>,
}

impl Lint {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let mut checked = Vec::new();
        for folder in &self.folders {
            let entries = entries(folder).map_err(CommandError::input(folder))?;
            checked.extend(skill_folders(&entries).map(|folder| CheckedFolder {
                skill_md: shown_path(&folder.skill_md.uri),
                skill: skill(&folder),
            }));
        }
        if self.json {
            let found: Vec<_> = checked.iter().map(CheckedFolder::json).collect();
            out::json(&json!({ "folders": found }))?;
        } else if checked.is_empty() {
            out::note("no SKILL.md was found");
        } else {
            let lines: String = checked.iter().map(CheckedFolder::lines).collect();
            out::text(&lines)?;
        }
        let are_skills = checked.iter().all(|folder| folder.skill.is_ok());
        Ok(Outcome::success_if(are_skills && !checked.is_empty()))
    }
}

impl CheckedFolder {
    fn lines(&self) -> String {
        let path = sanitize::line(&self.skill_md);
        let skill = match &self.skill {
            Ok(skill) => skill,
            Err(reason) => {
                let reason = reason.to_string();
                return format!(
                    "error: {path} is not a skill: {}\n",
                    sanitize::line(&reason)
                );
            }
        };
        let bytes = skill.files.iter().map(|file| file.size).sum();
        let files = match skill.files.len() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        let mut lines = format!("ok: {path}: {files}, {}\n", size::show(bytes));
        if let Some(warning) = warning(skill) {
            lines += &format!("warning: {path}: {warning}\n");
        }
        lines
    }

    fn json(&self) -> serde_json::Value {
        match &self.skill {
            Ok(skill) => json!({
                "path": self.skill_md,
                "frontmatter": skill.front_matter.json,
                "files": skill.files.len(),
                "warning": warning(skill),
            }),
            Err(reason) => json!({ "path": self.skill_md, "error": reason.to_string() }),
        }
    }
}

fn warning(skill: &Skill) -> Option<String> {
    let length = skill.front_matter.description.chars().count();
    (length > MAX_DESCRIPTION).then(|| {
        format!("its description has {length} characters, and some clients accept {MAX_DESCRIPTION} at most")
    })
}

/// Reads the files of a folder, and creates its skill.
fn skill(folder: &SkillFolder<'_>) -> Result<Skill, NotASkill> {
    let mut files = Vec::new();
    for entry in folder.files()? {
        files.push(read(&entry.uri)?);
    }
    let skill_md = files.iter().find(|file| file.uri == folder.skill_md.uri);
    let front_matter = folder.front_matter(skill_md.ok_or(NotASkill::NotText)?)?;
    Skill::new(folder, front_matter, files)
}

fn read(uri: &Uri) -> Result<Arc<SkillFile>, NotASkill> {
    let bytes = fs::read(path(uri)).map_err(|error| NotASkill::Unreadable {
        uri: shown_path(uri),
        message: error.to_string(),
    })?;
    let body = match String::from_utf8(bytes) {
        Ok(text) => Body::Text(text),
        Err(error) => Body::Blob(error.into_bytes()),
    };
    let content = Content {
        uri: uri.clone(),
        mime_type: None,
        body,
        metadata: Vec::new(),
    };
    SkillFile::from_content(content, None).map(Arc::new)
}

/// Returns the entries of all files below a folder, sorted by URI.
fn entries(folder: &Path) -> io::Result<Vec<Arc<Entry>>> {
    let mut entries = Vec::new();
    let mut folders = vec![fs::canonicalize(folder)?];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder)? {
            let item = item?;
            if item.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = item.file_type()?;
            if kind.is_dir() {
                folders.push(item.path());
            } else if kind.is_file() {
                entries.push(Arc::new(entry(&item.path(), item.metadata()?.len())?));
            }
        }
    }
    entries.sort_by(|a, b| a.uri.cmp(&b.uri));
    Ok(entries)
}

fn entry(path: &Path, size: u64) -> io::Result<Entry> {
    let invalid = || io::Error::other(format!("{} has no URI", path.display()));
    let url = url::Url::from_file_path(path).map_err(|()| invalid())?;
    Ok(Entry {
        uri: Uri::parse(url.as_str()).map_err(|_| invalid())?,
        name: String::new(),
        title: None,
        description: None,
        mime_type: None,
        size: Some(size),
        version: None,
        details: Details::default(),
        rendered: RenderCache::default(),
    })
}

fn path(uri: &Uri) -> PathBuf {
    let url = url::Url::parse(uri.as_str()).ok();
    let path = url.and_then(|url| url.to_file_path().ok());
    path.unwrap_or_else(|| PathBuf::from(uri.as_str()))
}

fn shown_path(uri: &Uri) -> String {
    path(uri).display().to_string()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn names_what_is_a_skill_and_what_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &[u8]| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let skill_md = |name: &str, description: &str| {
            format!("---\nname: {name}\ndescription: {description}\n---\n").into_bytes()
        };
        write("pdf/SKILL.md", &skill_md("pdf", "Fills forms."));
        write("pdf/grüße und mehr.bin", &[0xff, 0]);
        write("doc/SKILL.md", &skill_md("word", "Writes."));
        write("long/SKILL.md", &skill_md("long", &"x".repeat(1025)));
        write("bare/SKILL.md", b"text");
        write(".git/SKILL.md", b"text");
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("pdf/passwd")).unwrap();
        let entries = entries(dir.path()).unwrap();
        let lines: String = skill_folders(&entries)
            .map(|folder| CheckedFolder {
                skill_md: shown_path(&folder.skill_md.uri),
                skill: skill(&folder),
            })
            .map(|folder| folder.lines())
            .collect();
        let root = fs::canonicalize(dir.path()).unwrap();
        let lines = lines.replace(&root.display().to_string(), "DIR");
        expect![[r"
            error: DIR/bare/SKILL.md is not a skill: it does not begin with front matter between two lines `---`
            error: DIR/doc/SKILL.md is not a skill: its name is `word`, but its folder is `doc`: both must be the same
            ok: DIR/long/SKILL.md: 1 file, 1.0 KiB
            warning: DIR/long/SKILL.md: its description has 1025 characters, and some clients accept 1024 at most
            ok: DIR/pdf/SKILL.md: 2 files, 46 bytes
        "]]
        .assert_eq(&lines);
    }
}
