//! The development component of a project. It contains parts that seldom change, such as an interpreter and an SDK, and
//! loads the program from a granted folder when a guest starts. So no new component has to be created and compiled
//! after a save. Each revision of the program is a copy: guests never read files that are being edited, and the last
//! good revision stays complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::build;
use super::build_output::{BuildOutput, Component};
use super::error::RebuildError;
use super::phases::Phases;
use super::sources::{self, Snapshot, Sources};
use crate::cli::out;
use larder_author::DiskError;
use larder_config::{Development, Project};

/// Where a guest finds the program. The SDKs have the same path.
const GUEST_FOLDER: &str = "/larder-dev";

/// The maximum size of a program.
const MAX_PROGRAM_SIZE: u64 = 64 << 20;

pub(super) struct DevelopmentBuilder {
    settings: Development,
    /// The folder of the copies.
    programs: PathBuf,
    /// The current state of the files that the component contains.
    base: Snapshot,
    /// The component, and the files from which it was built.
    built: Option<(Snapshot, Component)>,
    /// Whether the next build creates a new component although the files are the same.
    needs_new: bool,
    /// Whether the last build created a new component.
    is_new: bool,
    last_copy: u64,
    served_copy: u64,
    /// Calls that began before the last change may still load this copy.
    previous_copy: u64,
}

impl DevelopmentBuilder {
    pub(super) fn new(settings: Development, programs: PathBuf) -> Self {
        Self {
            settings,
            programs,
            base: Snapshot::new(),
            built: None,
            needs_new: false,
            is_new: false,
            last_copy: 0,
            served_copy: 0,
            previous_copy: 0,
        }
    }

    /// See [`super::builder::Builder::start`]. Building the component takes long. Only changes of the component's own
    /// files make this build outdated, because the program is copied after it.
    pub(super) fn start(&mut self, project: &Project, files: &Snapshot) -> Snapshot {
        // A file outside of the project does not belong to the program, which is a folder of the project.
        let is_base = |path: &Path| path.is_absolute() || sources::names(&self.settings.base, path);
        self.base = files
            .iter()
            .filter(|(path, _)| is_base(path))
            .map(|(path, digest)| (path.clone(), *digest))
            .collect();
        match self.component() {
            Some(_) => files.clone(),
            None => {
                out::note(&format!(
                    "larder: building the development component of {}",
                    project.name
                ));
                self.base.clone()
            }
        }
    }

    pub(super) async fn build(
        &mut self,
        project: &Project,
        phases: &mut Phases,
    ) -> Result<BuildOutput, RebuildError> {
        self.is_new = self.component().is_none();
        let component = match self.component() {
            Some(component) => component.clone(),
            None => phases.time("build", self.build_component(project)).await?,
        };
        if !self.settings.prepare.is_empty() {
            phases
                .time("prepare", build::run(project, &self.settings.prepare))
                .await?;
        }
        let began = Instant::now();
        let program = self.copy_program(project)?;
        phases.add("copy", began.elapsed());
        Ok(BuildOutput::new(project, component)?.with_folder(program, GUEST_FOLDER))
    }

    /// Removes the copies that are not served any more.
    pub(super) fn loaded(&mut self) {
        self.previous_copy = std::mem::replace(&mut self.served_copy, self.last_copy);
        self.remove_copies();
    }

    /// See [`super::builder::Builder::require_new_component`].
    pub(super) fn require_new_component(&mut self) -> bool {
        self.needs_new = !self.is_new;
        self.needs_new
    }

    /// The component, if it is up to date.
    fn component(&self) -> Option<&Component> {
        let built = self
            .built
            .as_ref()
            .filter(|(base, _)| *base == self.base && !self.needs_new);
        built.map(|(_, component)| component)
    }

    async fn build_component(&mut self, project: &Project) -> Result<Component, RebuildError> {
        // If the build fails, the next save may remove the reason for a new component.
        self.needs_new = false;
        let path = &self.settings.component;
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(DiskError::at(folder))?;
        build::run(project, &self.settings.build).await?;
        let component = Component::read(path)?;
        self.built = Some((self.base.clone(), component.clone()));
        Ok(component)
    }

    /// Copies the program into a new folder, and returns it.
    fn copy_program(&mut self, project: &Project) -> Result<PathBuf, RebuildError> {
        let from = &self.settings.program;
        if !from.is_dir() {
            return Err(RebuildError::NoProgram {
                folder: from.clone(),
            });
        }
        let ignore = project
            .ignore
            .iter()
            .chain(&self.settings.base)
            .cloned()
            .collect();
        let files = Sources::of_folder(from.clone(), ignore).snapshot()?;
        self.last_copy += 1;
        let to = self.copy_folder(self.last_copy);
        let mut size = 0;
        for path in files.keys() {
            // The size is checked before the copy, because a large file may exceed the free space.
            size += fs::metadata(from.join(path)).map_or(0, |file| file.len());
            if size > MAX_PROGRAM_SIZE {
                let folder = from.clone();
                let max = MAX_PROGRAM_SIZE;
                self.remove_copies();
                return Err(RebuildError::LargeProgram { folder, max });
            }
            copy(&from.join(path), &to.join(path))?;
        }
        Ok(to)
    }

    fn copy_folder(&self, number: u64) -> PathBuf {
        self.programs.join(number.to_string())
    }

    /// Removes all copies except the served copy and the copy before it.
    fn remove_copies(&self) {
        let kept = [self.served_copy, self.previous_copy].map(|number| self.copy_folder(number));
        // Copies that cannot be removed now are removed together with the temporary folder.
        let Ok(items) = fs::read_dir(&self.programs) else {
            return;
        };
        for path in items
            .flatten()
            .map(|item| item.path())
            .filter(|path| !kept.contains(path))
        {
            _ = fs::remove_dir_all(path);
        }
    }
}

/// Copies a file. A file that was removed in the meantime is not copied.
fn copy(from: &Path, to: &Path) -> Result<(), RebuildError> {
    let failed = DiskError::at(to);
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(&failed)?;
    }
    match fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(_) if !from.exists() => Ok(()),
        Err(error) => Err(failed(error).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_config::load_project;

    fn project(folder: &Path, files: &[(&str, &str)]) -> Project {
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let settings = "name = 'x'\nbuild = [['false']]\ncomponent = 'x.wasm'\nignore = ['README.md']\n\
                        [development]\nbuild = [['sh', 'build.sh']]\ncomponent = '.dev/x.wasm'\n\
                        base = ['build.sh', 'sdk']";
        fs::write(folder.join("larder-dev.toml"), settings).unwrap();
        load_project(folder).unwrap()
    }

    /// Builds, and returns the steps that were executed.
    async fn build(
        builder: &mut DevelopmentBuilder,
        project: &Project,
    ) -> Result<String, RebuildError> {
        builder.start(project, &Sources::new(project).snapshot().unwrap());
        let mut phases = Phases::default();
        builder.build(project, &mut phases).await?;
        let names = phases.to_string();
        Ok(names
            .split([' ', ','])
            .filter(|word| ["build", "prepare", "copy"].contains(word))
            .collect::<Vec<_>>()
            .join(" "))
    }

    #[tokio::test]
    async fn only_changes_of_the_base_build_a_new_component() {
        let folder = tempfile::tempdir().unwrap();
        let programs = tempfile::tempdir().unwrap();
        let files = [
            ("build.sh", "cat sdk/lib > .dev/x.wasm"),
            ("sdk/lib", "one"),
            ("app/main", "1"),
            ("README.md", "text"),
        ];
        let project = project(folder.path(), &files);
        let settings = project.development.clone().unwrap();
        let mut builder = DevelopmentBuilder::new(settings, programs.path().to_owned());
        assert_eq!(build(&mut builder, &project).await.unwrap(), "build copy");
        builder.loaded();
        let copy = |number: &str, path: &str| programs.path().join(number).join(path);
        assert_eq!(fs::read_to_string(copy("1", "app/main")).unwrap(), "1");
        assert!(!copy("1", "README.md").exists() && !copy("1", "sdk").exists());
        fs::write(folder.path().join("app/main"), "2").unwrap();
        assert_eq!(build(&mut builder, &project).await.unwrap(), "copy");
        // The copy that is served remains.
        assert_eq!(fs::read_to_string(copy("1", "app/main")).unwrap(), "1");
        builder.loaded();
        assert_eq!(fs::read_to_string(copy("2", "app/main")).unwrap(), "2");
        // Calls that began with the previous copy may still load it.
        assert_eq!(fs::read_to_string(copy("1", "app/main")).unwrap(), "1");
        fs::write(folder.path().join("sdk/lib"), "two").unwrap();
        assert_eq!(build(&mut builder, &project).await.unwrap(), "build copy");
        builder.loaded();
        assert!(!copy("1", "app/main").exists() && copy("2", "app/main").exists());
        // The last build created a component, so another component would be the same.
        assert!(!builder.require_new_component());
        assert_eq!(build(&mut builder, &project).await.unwrap(), "copy");
        assert!(builder.require_new_component());
        assert_eq!(build(&mut builder, &project).await.unwrap(), "build copy");
    }

    #[tokio::test]
    async fn limits_the_size_of_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let programs = tempfile::tempdir().unwrap();
        let project = project(folder.path(), &[("build.sh", "touch .dev/x.wasm")]);
        let large = fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(MAX_PROGRAM_SIZE + 1).unwrap();
        let settings = project.development.clone().unwrap();
        let mut builder = DevelopmentBuilder::new(settings, programs.path().to_owned());
        let error = build(&mut builder, &project).await.unwrap_err().to_string();
        assert!(
            error.contains("has more than 64 MiB; add what it does not load to `ignore`"),
            "{error}"
        );
        assert_eq!(fs::read_dir(programs.path()).unwrap().count(), 0);
    }
}
