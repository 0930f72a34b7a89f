//! Compiles a component without its libraries, and compiles the libraries that are not in the cache.

use bytes::Bytes;
use wasmtime::component::Component;

use super::process::Input;
use super::processes::RunningJob;
use super::{Compiler, Failure};
use crate::compile::cache::Code as _;
use crate::compile::compiled_code::{CompiledCode, CompiledLibrary};
use crate::compile::libraries::{Library, SplitComponent, is_library, split};
use crate::compile::phases::Stopwatch;
use crate::engine::tier::Tier;
use larder_model::name::{Digest, TeamName};
use larder_model::size;
use larder_provider::{CompilePhases, Rejection};

/// The key of a library in the cache. Only the bytes of the library can have influenced its code, because its process
/// compiles nothing else. Each team has its own entries, as for components.
fn library_key(team: &TeamName, name: &str) -> Digest {
    // No name contains a space.
    Digest::of(format!("{name} of {team}").as_bytes())
}

/// How a part is compiled.
fn split_input(bytes: &Bytes, is_library: bool) -> Input<'_> {
    Input {
        bytes,
        tier: Tier::Split,
        is_library,
    }
}

impl Compiler {
    /// Finds the libraries that a component of [`Tier::Split`] imports. None if a library is not in the cache.
    pub(super) async fn find_libraries(
        &self,
        team: &TeamName,
        component: &Component,
    ) -> Result<Option<Vec<CompiledLibrary>>, Rejection> {
        let component_type = component.component_type();
        let names: Vec<String> = component_type
            .imports(component.engine())
            .map(|(name, _)| name.to_owned())
            .collect();
        let mut libraries = Vec::new();
        for name in names.into_iter().filter(|name| is_library(name)) {
            let Some(entry) = self.find(team, library_key(team, &name)).await? else {
                return Ok(None);
            };
            libraries.push(CompiledLibrary { name, entry });
        }
        Ok(Some(libraries))
    }

    /// Compiles a component without its libraries, and compiles the libraries that are not in the cache. None if the
    /// component has no libraries.
    pub(super) async fn compile_parts(
        &self,
        job: &RunningJob<'_>,
        key: Digest,
        bytes: &Bytes,
    ) -> Result<Option<(CompiledCode, CompilePhases)>, Failure> {
        let component = bytes.clone();
        let Some(parts) = self.run_blocking(move |_| split(&component)).await? else {
            return Ok(None);
        };
        // All parts together may take as long as a component that is compiled as a whole.
        let compiled = job.processes.within(
            self.config.timeout,
            self.compile_all(job, key, bytes, parts),
        );
        match compiled.await {
            Some(compiled) => compiled.map(Some),
            None => Err(Failure::timeout(format!(
                "compiling its parts takes longer than {:?}",
                self.config.timeout
            ))),
        }
    }

    async fn compile_all(
        &self,
        job: &RunningJob<'_>,
        key: Digest,
        bytes: &Bytes,
        parts: SplitComponent,
    ) -> Result<(CompiledCode, CompilePhases), Failure> {
        let SplitComponent {
            bytes: rest,
            mut libraries,
        } = parts;
        let rest = Bytes::from(rest);
        libraries.sort_unstable_by_key(|library| library.range.len());
        let largest = libraries.pop();
        // The largest library takes about as long as all other parts. With two processes, one process computes while
        // the other starts, ends, or does work that cannot use several threads.
        let others = async {
            let mut compiled = Vec::new();
            let mut phases = CompilePhases::default();
            for library in libraries {
                let (library, time) = self.get_or_compile_library(job, bytes, library).await?;
                compiled.push(library);
                phases += time;
            }
            let input = split_input(&rest, false);
            let ended = self
                .compile_once(job, Tier::Split.key(key), input, Stopwatch::start())
                .await?;
            phases += ended.1;
            Ok::<_, Failure>((ended.0, compiled, phases))
        };
        let largest = async {
            match largest {
                Some(library) => self
                    .get_or_compile_library(job, bytes, library)
                    .await
                    .map(Some),
                None => Ok(None),
            }
        };
        let (largest, (entry, mut libraries, mut phases)) = tokio::try_join!(largest, others)?;
        if let Some((library, time)) = largest {
            libraries.push(library);
            phases += time;
        }
        let code = CompiledCode {
            entry,
            libraries,
            tier: Tier::Split,
        };
        self.check_size(&code)?;
        Ok((code, phases))
    }

    fn check_size(&self, code: &CompiledCode) -> Result<(), Rejection> {
        if code.size() <= self.config.code {
            return Ok(());
        }
        let limit = size::show(self.config.code);
        let error = format!("the code of its parts is larger than {limit} (`compiler.code`)");
        Err(Rejection::Compiler(error))
    }

    async fn get_or_compile_library(
        &self,
        job: &RunningJob<'_>,
        component: &Bytes,
        library: Library,
    ) -> Result<(CompiledLibrary, CompilePhases), Failure> {
        let Library { name, range, .. } = library;
        let key = library_key(job.team, &name);
        let (entry, phases) = match self.find(job.job.team, key).await? {
            Some(entry) => (entry, CompilePhases::default()),
            None => {
                let bytes = component.slice(range);
                self.compile_once(job, key, split_input(&bytes, true), Stopwatch::start())
                    .await?
            }
        };
        Ok((CompiledLibrary { name, entry }, phases))
    }
}

impl CompiledCode {
    /// The size of the code of the component and its libraries, in bytes.
    pub(super) fn size(&self) -> u64 {
        let libraries = self
            .libraries
            .iter()
            .map(|library| library.entry.code.size());
        libraries.fold(self.entry.code.size(), u64::saturating_add)
    }
}
