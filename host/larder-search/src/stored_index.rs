//! Reads an index. Reading needs no lock: another process may change the index at the same time.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tantivy::collector::TopDocs;
use tantivy::columnar::StrColumn;
use tantivy::{DocId, Index, ReloadPolicy, Searcher, SegmentReader, TantivyDocument};

use crate::damage::Failure;
use crate::directory::FileDirectory;
use crate::excerpt::excerpt;
use crate::pausing::PausingQuery;
use crate::query::QueryWords;
use crate::schema::{self, Fields, name};
use crate::{folder, words};
use larder_model::name::ProviderName;
use larder_model::text_index::{KnownDocument, Match, Usage};
use larder_model::uri::Uri;
use larder_runtime::low_priority_threads;

/// Maximum number of matches of one search.
const MAX_MATCHES: usize = 200;
/// The file that tantivy replaces with each change.
const META_FILE: &str = "meta.json";
/// Blocks of stored text that are kept in memory. Each text is read once per search.
const CACHED_BLOCKS: usize = 1;

/// An index that is opened for reading.
#[derive(Debug)]
pub(crate) struct StoredIndex {
    folder: PathBuf,
    fields: Fields,
    opened: Mutex<Option<OpenedIndex>>,
}

struct OpenedIndex {
    state: FileState,
    searcher: Searcher,
    last_use: Instant,
}

impl std::fmt::Debug for OpenedIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenedIndex")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Differs whenever the file was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    inode: u64,
    modified: (i64, i64),
}

/// Opens the files of tantivy.
pub(crate) fn open_index(directory: FileDirectory) -> Result<Index, Failure> {
    let index = Index::open(directory)?;
    if index.schema() != schema::schema().0 {
        return Err(Failure::Damaged(
            "its fields are not those of this version".into(),
        ));
    }
    index
        .tokenizers()
        .register(schema::ANALYZER, words::analyzer());
    Ok(index)
}

impl StoredIndex {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            fields: schema::schema().1,
            opened: Mutex::default(),
        }
    }

    /// Returns the index in the state of its last change. `None` if there is no index.
    pub(crate) fn searcher(&self) -> Result<Option<Searcher>, Failure> {
        let index_folder = folder::index_folder(&self.folder);
        let mut opened = self.opened.lock();
        let state = std::fs::metadata(index_folder.join(META_FILE)).map(|meta| FileState {
            inode: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        });
        if let (Ok(state), Some(opened)) = (&state, &mut *opened)
            && opened.state == *state
        {
            opened.last_use = Instant::now();
            return Ok(Some(opened.searcher.clone()));
        }
        *opened = None;
        if !folder::is_current(&self.folder) {
            return Ok(None);
        }
        let index = open_index(FileDirectory::new(index_folder))?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader = reader
            .doc_store_cache_num_blocks(CACHED_BLOCKS)
            .try_into()?;
        let new = OpenedIndex {
            state: state?,
            searcher: reader.searcher(),
            last_use: Instant::now(),
        };
        Ok(Some(opened.insert(new).searcher.clone()))
    }

    /// Releases the memory and the files of an index that was not used for this time.
    pub(crate) fn release(&self, unused_for: Duration) {
        let mut opened = self.opened.lock();
        opened.take_if(|opened| opened.last_use.elapsed() >= unused_for);
    }

    pub(crate) fn search(&self, text: &str, limit: usize) -> Result<Vec<Match>, Failure> {
        let (Some(words), Some(searcher)) = (QueryWords::of(text), self.searcher()?) else {
            return Ok(Vec::new());
        };
        let limit = limit.min(MAX_MATCHES);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let query = PausingQuery::new(words.query(&self.fields));
        let best = TopDocs::with_limit(limit).order_by_score();
        let mut matches = Vec::new();
        for (score, address) in searcher.search(&query, &best)? {
            low_priority_threads::pause();
            let document: TantivyDocument = searcher.doc(address)?;
            let stored = self.fields.stored(&document);
            let stored =
                stored.ok_or_else(|| Failure::Damaged("a document has no valid fields".into()))?;
            let excerpt = excerpt(&stored.text, &words);
            matches.push(Match {
                provider: stored.provider,
                uri: stored.uri,
                title: stored.title,
                excerpt,
                score,
            });
        }
        Ok(matches)
    }

    /// Returns what is stored of a provider, without the texts.
    pub(crate) fn known(
        &self,
        provider: &ProviderName,
    ) -> Result<HashMap<Uri, KnownDocument>, Failure> {
        let mut known = HashMap::new();
        self.for_each(|columns, document| {
            if columns.provider.get(document)? != provider.as_str() {
                return Ok(());
            }
            let uri = Uri::parse(&columns.uri.get(document)?);
            let uri = uri.map_err(|error| Failure::Damaged(error.to_string()))?;
            let state = columns.state.get(document)?;
            known.insert(
                uri,
                KnownDocument {
                    state,
                    is_searchable: columns.text_bytes(document).is_some(),
                },
            );
            Ok(())
        })?;
        Ok(known)
    }

    /// Returns how much is stored, by provider. Providers without text are included.
    pub(crate) fn usage(&self) -> Result<BTreeMap<ProviderName, Usage>, Failure> {
        let mut usage: BTreeMap<ProviderName, Usage> = BTreeMap::new();
        self.for_each(|columns, document| {
            let provider = ProviderName::parse(&columns.provider.get(document)?);
            let provider = provider.map_err(|error| Failure::Damaged(error.to_string()))?;
            let of_provider = usage.entry(provider).or_default();
            if let Some(bytes) = columns.text_bytes(document) {
                of_provider.add(bytes);
            }
            Ok(())
        })?;
        Ok(usage)
    }

    fn for_each(
        &self,
        mut each: impl FnMut(&Columns, DocId) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(searcher) = self.searcher()? else {
            return Ok(());
        };
        for segment in searcher.segment_readers() {
            let columns = Columns::of(segment)?;
            segment
                .doc_ids_alive()
                .try_for_each(|document| each(&columns, document))?;
        }
        Ok(())
    }
}

/// The values that are read for all documents.
struct Columns {
    provider: TextColumn,
    uri: TextColumn,
    state: TextColumn,
    bytes: tantivy::columnar::Column<u64>,
}

struct TextColumn(StrColumn);

impl TextColumn {
    fn of(segment: &SegmentReader, name: &str) -> Result<Self, Failure> {
        let column = segment.fast_fields().str(name)?;
        column
            .map(Self)
            .ok_or_else(|| Failure::Damaged(format!("there is no column {name}")))
    }

    fn get(&self, document: DocId) -> Result<String, Failure> {
        let mut text = String::new();
        if let Some(at) = self.0.ords().first(document) {
            self.0.ord_to_str(at, &mut text)?;
        }
        Ok(text)
    }
}

impl Columns {
    fn of(segment: &SegmentReader) -> Result<Self, Failure> {
        Ok(Self {
            provider: TextColumn::of(segment, name::PROVIDER)?,
            uri: TextColumn::of(segment, name::URI)?,
            state: TextColumn::of(segment, name::STATE)?,
            bytes: segment.fast_fields().u64(name::BYTES)?,
        })
    }

    fn text_bytes(&self, document: DocId) -> Option<u64> {
        self.bytes.first(document)?.checked_sub(1)
    }
}
