//! What remains of streams that have ended, in the whole house, for those who did not hear the end: so many bytes, and for so
//! long. The oldest goes first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::strand::Strand;

/// Bytes of all sessions.
const BYTES: usize = 16 << 20;
/// What each costs beside what it said.
const EACH: usize = 512;
/// Who was cut off comes back within seconds.
const TIME: Duration = Duration::from_secs(60);

/// All that remains.
#[derive(Default)]
pub(in crate::endpoint) struct Remains(Mutex<All>);

#[derive(Default)]
struct All {
    /// Of all below, also of those whose session is gone: they leave with the time.
    bytes: usize,
    strands: VecDeque<Remain>,
}

struct Remain {
    strand: Weak<Strand>,
    bytes: usize,
    since: Instant,
}

impl Remains {
    /// This one has ended, and so many bytes are kept of it.
    pub(super) fn add(&self, strand: &Arc<Strand>, bytes: usize) {
        let (bytes, since) = (bytes + EACH, Instant::now());
        let mut all = self.lock();
        all.bytes += bytes;
        all.strands.push_back(Remain { strand: Arc::downgrade(strand), bytes, since });
        all.trim(since);
    }

    /// Lets go what was kept for long enough.
    pub(in crate::endpoint) fn sweep(&self) {
        self.lock().trim(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl All {
    fn trim(&mut self, now: Instant) {
        while let Some(oldest) = self.strands.front() {
            if self.bytes <= BYTES && now.saturating_duration_since(oldest.since) < TIME {
                return;
            }
            self.bytes -= oldest.bytes;
            if let Some(strand) = oldest.strand.upgrade() {
                strand.forget();
            }
            self.strands.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::strand::tests::strand;
    use super::*;

    fn ended(remains: &Arc<Remains>, bytes: usize) -> Arc<Strand> {
        let strand = strand(remains);
        strand.answer(vec![b'x'; bytes]);
        strand.end();
        strand
    }

    #[test]
    fn the_whole_house_keeps_so_much_and_no_longer() {
        let remains = Arc::<Remains>::default();
        let strands: Vec<_> = (0..1_000).map(|_| ended(&remains, 32 << 10)).collect();
        let kept = strands.iter().filter(|strand| !strand.is_gone()).count();
        assert!(kept > 100 && kept * (32 << 10) <= BYTES, "{kept}");
        assert!(strands[0].is_gone() && !strands[999].is_gone());
        remains.sweep();
        assert!(!strands[999].is_gone());
        remains.lock().trim(Instant::now() + TIME);
        assert!(strands[999].is_gone());
        let all = remains.lock();
        assert_eq!((all.bytes, all.strands.len()), (0, 0));
    }

    #[tokio::test]
    async fn who_hears_it_hears_it_to_the_end() {
        let remains = Arc::<Remains>::default();
        let strand = ended(&remains, 8);
        let mut heard = Strand::listen(&strand, 0).unwrap();
        remains.lock().trim(Instant::now() + TIME);
        assert!(!strand.is_gone());
        assert_eq!(heard.next().await.unwrap().1.len(), 8);
        drop(heard);
        assert!(strand.is_gone());
    }
}
