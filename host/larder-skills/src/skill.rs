//! A skill: its front matter, and its files with their digests.

use std::sync::Arc;

use super::folder::SkillFolder;
use super::front_matter::FrontMatter;
use super::not_a_skill::{MAX_BYTES, NotASkill};
use larder_model::name::Digest;
use larder_model::resource::{Body, Content, Entry, Freshness, ReadResult, RenderCache};
use larder_model::uri::Uri;

/// The approximate size of a file in a manifest, without its URI.
const FILE_SIZE: usize = 120;

/// A file of a skill or a page of an app, with the bytes that are served.
#[derive(Debug)]
pub struct SkillFile {
    /// The URI of the file.
    pub uri: Uri,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The number of its bytes.
    pub size: u64,
    /// What a read of the file returns.
    pub result: ReadResult,
}

/// A skill. It never changes.
#[derive(Debug)]
pub struct Skill {
    /// What `SKILL.md` says about the skill.
    pub front_matter: FrontMatter,
    /// All files, sorted by URI.
    pub files: Vec<Arc<SkillFile>>,
    /// The entry of `SKILL.md` in lists, with the name and the description of the skill.
    pub entry: Arc<Entry>,
    /// The JSON of the skill, shared by all responses that contain it.
    pub rendered: RenderCache,
}

impl SkillFile {
    /// Creates a file from the result of its read.
    pub fn new(uri: Uri, result: ReadResult) -> Result<Self, NotASkill> {
        let (digest, size) = match &**result.contents {
            [content] if content.uri == uri => {
                let bytes = bytes(&content.body);
                (Digest::of(bytes), bytes.len() as u64)
            }
            _ => return Err(NotASkill::SeveralContents(uri.to_string())),
        };
        Ok(Self {
            uri,
            digest,
            size,
            result,
        })
    }

    /// Creates a file with this content, which clients may not cache.
    pub fn from_content(content: Content, version: Option<String>) -> Result<Self, NotASkill> {
        let uri = content.uri.clone();
        let result = ReadResult {
            contents: Arc::new([content].into_iter().collect()),
            version,
            freshness: Freshness::UNKNOWN,
            shared: false,
        };
        Self::new(uri, result)
    }

    /// Returns the content, if it is text in UTF-8.
    pub fn text(&self) -> Option<&str> {
        match &self.result.contents.first()?.body {
            Body::Text(text) => Some(text),
            Body::Blob(bytes) => std::str::from_utf8(bytes).ok(),
        }
    }
}

fn bytes(body: &Body) -> &[u8] {
    match body {
        Body::Text(text) => text.as_bytes(),
        Body::Blob(bytes) => bytes,
    }
}

impl SkillFolder<'_> {
    /// Reads the front matter of the folder's `SKILL.md`.
    pub fn front_matter(&self, skill_md: &SkillFile) -> Result<FrontMatter, NotASkill> {
        let front_matter = FrontMatter::of(skill_md.text().ok_or(NotASkill::NotText)?)?;
        if front_matter.name == self.name() {
            return Ok(front_matter);
        }
        Err(NotASkill::OtherFolder {
            name: front_matter.name,
            folder: self.name().to_owned(),
        })
    }
}

impl Skill {
    /// Creates the skill of a folder from all files of the folder, in the order of the folder.
    pub fn new(
        folder: &SkillFolder<'_>,
        front_matter: FrontMatter,
        files: Vec<Arc<SkillFile>>,
    ) -> Result<Self, NotASkill> {
        if files.iter().map(|file| file.size).sum::<u64>() > MAX_BYTES {
            return Err(NotASkill::TooLarge);
        }
        Ok(Self::of(folder.skill_md, front_matter, files))
    }

    /// Returns the skill with other files, as they were at another time.
    pub fn with_files(&self, files: Vec<Arc<SkillFile>>) -> Result<Self, NotASkill> {
        let skill_md = files.iter().find(|file| file.uri == *self.uri());
        let text = skill_md.and_then(|file| file.text());
        let front_matter = FrontMatter::of(text.ok_or(NotASkill::NotText)?)?;
        Ok(Self::of(&self.entry, front_matter, files))
    }

    fn of(skill_md: &Entry, front_matter: FrontMatter, files: Vec<Arc<SkillFile>>) -> Self {
        let entry = Entry {
            name: front_matter.name.clone(),
            description: Some(front_matter.description.clone()),
            mime_type: Some("text/markdown".into()),
            ..skill_md.clone()
        };
        Self {
            front_matter,
            files,
            entry: Arc::new(entry),
            rendered: RenderCache::default(),
        }
    }

    /// The URI of `SKILL.md`, which is the URI of the skill.
    pub fn uri(&self) -> &Uri {
        &self.entry.uri
    }

    /// The approximate size of the manifest in bytes.
    pub fn manifest_size(&self) -> usize {
        let files = self.files.iter();
        let files: usize = files.map(|file| FILE_SIZE + file.uri.as_str().len()).sum();
        FILE_SIZE + self.front_matter.json.get().len() + files
    }

    /// The digest of the URIs and digests of all files.
    pub fn digest(&self) -> Digest {
        let files = self.files.iter();
        let lines: String = files
            .map(|file| format!("{} {}\n", file.digest, file.uri))
            .collect();
        Digest::of(lines.as_bytes())
    }

    /// Whether both skills have the same files.
    pub fn has_same_content(&self, other: &Self) -> bool {
        let pairs = self.files.iter().zip(&other.files);
        self.files.len() == other.files.len()
            && pairs.into_iter().all(|(a, b)| a.has_same_content(b))
    }
}

impl SkillFile {
    /// Whether both files have the same URI and the same bytes.
    pub fn has_same_content(&self, other: &Self) -> bool {
        self.uri == other.uri && self.digest == other.digest
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::folder::skill_folders;
    use crate::folder::tests::entries;

    pub(crate) fn file(uri: &str, body: Body) -> Arc<SkillFile> {
        let uri = Uri::parse(uri).unwrap();
        let content = Content {
            uri,
            mime_type: None,
            body,
            metadata: vec![],
        };
        Arc::new(SkillFile::from_content(content, None).unwrap())
    }

    const SKILL_MD: &str = "---\nname: pdf\ndescription: Fills forms\n---\n";

    #[test]
    fn a_skill_has_the_name_of_its_folder() {
        let skill = |uri: &str| {
            let entries = entries(&[uri]);
            let folder = skill_folders(&entries).next().unwrap();
            let skill_md = file(uri, Body::Text(SKILL_MD.into()));
            let front_matter = folder.front_matter(&skill_md)?;
            Skill::new(&folder, front_matter, vec![skill_md])
        };
        let pdf = skill("skill://team/pdf/SKILL.md").unwrap();
        assert_eq!(pdf.entry.name, "pdf");
        assert_eq!(pdf.entry.description.as_deref(), Some("Fills forms"));
        assert_eq!(
            skill("skill://team/doc/SKILL.md").unwrap_err().to_string(),
            "its name is `pdf`, but its folder is `doc`: both must be the same"
        );
    }

    #[test]
    fn digests_are_of_the_bytes_that_are_served() {
        let blob = file("x://a/b", Body::Blob(vec![0xff, 0]));
        assert_eq!((blob.size, blob.digest), (2, Digest::of(&[0xff, 0])));
        let text = file("x://a/b", Body::Text("\u{feff}ä".into()));
        assert_eq!(
            (text.size, text.digest),
            (5, Digest::of("\u{feff}ä".as_bytes()))
        );
    }

    #[test]
    fn the_real_size_counts() {
        let uri = "skill://pdf/SKILL.md";
        let entries = entries(&[uri, "skill://pdf/x"]);
        let folder = skill_folders(&entries).next().unwrap();
        let large = Body::Blob(vec![0; MAX_BYTES as usize]);
        let files = vec![
            file(uri, Body::Text(SKILL_MD.into())),
            file("skill://pdf/x", large),
        ];
        let front_matter = folder.front_matter(&files[0]).unwrap();
        let skill = Skill::new(&folder, front_matter, files);
        assert_eq!(skill.unwrap_err(), NotASkill::TooLarge);
    }
}
