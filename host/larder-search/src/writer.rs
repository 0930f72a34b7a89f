//! Changes an index. All code here runs on the one thread for changes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy as _, NoMergePolicy};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, Index, IndexSettings, IndexWriter, Searcher, TERMINATED, Term};

use crate::damage::Failure;
use crate::directory::FileDirectory;
use crate::folder::{self, FolderLock};
use crate::schema::{self, Fields, key, name};
use crate::stored_index::{StoredIndex, open_index};
use larder_model::name::ProviderName;
use larder_model::text_index::{Change, Document, Limits, Usage};

/// Memory of the thread that collects the words of new documents: the minimum that tantivy accepts.
const WRITER_BYTES: usize = 15_000_000;
/// Segments of about the same size are merged if there are this many of them. Each search reads all segments.
const MAX_SIMILAR_SEGMENTS: usize = 6;
/// Smaller segments count as equally large.
const SMALL_SEGMENT_DOCUMENTS: u32 = 500;
/// If the part of deleted documents in a segment is larger than this, the segment is written again.
const MAX_DELETED_PART: f32 = 0.2;

/// The right to change an index, and the known state of its files.
#[derive(Debug)]
pub(crate) struct Writer {
    folder: PathBuf,
    limits: Limits,
    fields: Fields,
    lock: Option<FolderLock>,
    /// Whether the checksums of the files were compared.
    is_verified: bool,
}

/// How an index was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenOutcome {
    /// The index was already open.
    Open,
    /// The index is unchanged since its last use, or it is new.
    Same,
    /// The index was of another version, and is empty now.
    Outdated,
}

impl Writer {
    pub(crate) fn new(folder: PathBuf, limits: Limits) -> Self {
        Self {
            folder,
            limits,
            fields: schema::schema().1,
            lock: None,
            is_verified: false,
        }
    }

    /// Opens the index, or creates it.
    pub(crate) fn open(&mut self) -> Result<OpenOutcome, Failure> {
        locked(&mut self.lock, &self.folder)?;
        if !folder::is_current(&self.folder) {
            let is_outdated = folder::exists(&self.folder);
            create(&self.folder, locked(&mut self.lock, &self.folder)?)?;
            self.is_verified = true;
            return Ok(if is_outdated {
                OpenOutcome::Outdated
            } else {
                OpenOutcome::Same
            });
        }
        if self.is_verified {
            return Ok(OpenOutcome::Open);
        }
        let index = open_index(FileDirectory::new(folder::index_folder(&self.folder)))?;
        let damaged = index.validate_checksum()?;
        if !damaged.is_empty() {
            return Err(Failure::Damaged(format!(
                "these files have changed: {damaged:?}"
            )));
        }
        self.is_verified = true;
        Ok(OpenOutcome::Same)
    }

    /// Deletes all documents, and creates an empty index.
    pub(crate) fn recreate(&mut self) -> Result<(), Failure> {
        create(&self.folder, locked(&mut self.lock, &self.folder)?)?;
        self.is_verified = true;
        Ok(())
    }

    /// Stores all changes together. Returns false if the limits are reached, and some documents were not stored.
    pub(crate) fn apply(
        &mut self,
        stored: &StoredIndex,
        usage: &BTreeMap<ProviderName, Usage>,
        changes: Vec<Change>,
    ) -> Result<bool, Failure> {
        let directory = FileDirectory::new(folder::index_folder(&self.folder));
        let index = open_index(directory.clone())?;
        let searcher = stored.searcher()?;
        let mut sizes = Sizes {
            fields: self.fields,
            searcher,
            known: HashMap::new(),
        };
        let written = self.write(&index, changes, &mut sizes, Usage::total(usage.values()));
        // The error of the file is more specific than the error of the thread.
        written.map_err(|error| directory.take_write_error().map_or(error, Failure::from))
    }

    fn write(
        &self,
        index: &Index,
        changes: Vec<Change>,
        sizes: &mut Sizes,
        mut used: Usage,
    ) -> Result<bool, Failure> {
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(WRITER_BYTES)
            .num_merge_threads(1)
            .build();
        let mut writer: IndexWriter = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let mut all_fit = true;
        let mut purges = false;
        for change in changes {
            match change {
                Change::Put(document) => {
                    let key = key(&document.provider, &document.uri);
                    let document = self.truncated(document);
                    let fits =
                        sizes.replace(&key, document.text.as_deref(), &mut used, &self.limits)?;
                    writer.delete_term(Term::from_field_text(self.fields.key, &key));
                    if fits {
                        writer.add_document(self.fields.document(&document))?;
                    }
                    all_fit &= fits;
                }
                Change::Remove(provider, uri) => {
                    let key = key(&provider, &uri);
                    sizes.replace(&key, None, &mut used, &self.limits)?;
                    writer.delete_term(Term::from_field_text(self.fields.key, &key));
                }
                Change::RemoveProvider(provider) => {
                    writer.delete_term(Term::from_field_text(
                        self.fields.provider,
                        provider.as_str(),
                    ));
                    purges = true;
                }
            }
        }
        writer.commit()?;
        merge(index, &mut writer, purges)?;
        writer.wait_merging_threads()?;
        Ok(all_fit)
    }

    fn truncated(&self, mut document: Document) -> Document {
        if let Some(text) = &mut document.text {
            text.truncate(text.floor_char_boundary(self.limits.document_bytes));
        }
        document
    }
}

/// Returns the lock of the folder. If the lock is not held yet, takes it.
fn locked<'a>(lock: &'a mut Option<FolderLock>, folder: &Path) -> Result<&'a FolderLock, Failure> {
    let held = match lock.take() {
        Some(held) => held,
        None => folder::lock(folder)?,
    };
    Ok(lock.insert(held))
}

fn create(folder: &Path, lock: &FolderLock) -> Result<(), Failure> {
    folder::clear(folder, lock)?;
    let directory = FileDirectory::new(folder::index_folder(folder));
    let index = Index::create(
        directory.clone(),
        schema::schema().0,
        IndexSettings::default(),
    );
    index.map_err(|error| {
        directory
            .take_write_error()
            .map_or_else(|| error.into(), Failure::from)
    })?;
    Ok(folder::mark(folder, lock)?)
}

/// Merges small segments, and segments with many deleted documents. With `purges`, no deleted document stays on the
/// disk.
fn merge(index: &Index, writer: &mut IndexWriter, purges: bool) -> Result<(), Failure> {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(MAX_SIMILAR_SEGMENTS);
    policy.set_min_layer_size(SMALL_SEGMENT_DOCUMENTS);
    for candidate in policy.compute_merge_candidates(&index.searchable_segment_metas()?) {
        writer.merge(&candidate.0).wait()?;
    }
    for segment in index.searchable_segment_metas()? {
        let deleted = segment.num_deleted_docs();
        if deleted > 0 && (purges || deleted as f32 > MAX_DELETED_PART * segment.max_doc() as f32) {
            writer.merge(&[segment.id()]).wait()?;
        }
    }
    writer.garbage_collect_files().wait()?;
    Ok(())
}

/// The sizes of the texts of documents after the changes so far.
struct Sizes {
    fields: Fields,
    searcher: Option<Searcher>,
    known: HashMap<String, Option<u64>>,
}

impl Sizes {
    /// Replaces the text of a document in `used`. If the new text does not fit, removes it and returns false.
    fn replace(
        &mut self,
        key: &str,
        text: Option<&str>,
        used: &mut Usage,
        limits: &Limits,
    ) -> Result<bool, Failure> {
        let before = match self.known.get(key) {
            Some(known) => *known,
            None => self.stored(key)?,
        };
        if let Some(bytes) = before {
            used.documents = used.documents.saturating_sub(1);
            used.bytes = used.bytes.saturating_sub(bytes);
        }
        let new = text.map(|text| text.len() as u64);
        let fits = new.is_none_or(|bytes| {
            used.documents < limits.documents && used.bytes + bytes <= limits.bytes
        });
        let new = new.filter(|_| fits);
        if let Some(bytes) = new {
            used.add(bytes);
        }
        self.known.insert(key.to_owned(), new);
        Ok(fits)
    }

    fn stored(&self, key: &str) -> Result<Option<u64>, Failure> {
        let term = Term::from_field_text(self.fields.key, key);
        for segment in self.searcher.iter().flat_map(Searcher::segment_readers) {
            let postings = segment.inverted_index(self.fields.key)?;
            let Some(mut postings) = postings.read_postings(&term, IndexRecordOption::Basic)?
            else {
                continue;
            };
            let bytes = segment.fast_fields().u64(name::BYTES)?;
            while postings.doc() != TERMINATED {
                if !segment.is_deleted(postings.doc()) {
                    return Ok(bytes
                        .first(postings.doc())
                        .and_then(|bytes| bytes.checked_sub(1)));
                }
                postings.advance();
            }
        }
        Ok(None)
    }
}
