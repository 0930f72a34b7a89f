use super::super::held::Print;
use super::desk::{BATCH, LONGEST_REST};
use super::*;
use crate::uri::Uri;

fn watched(n: usize) -> Uri {
    Uri::parse(&format!("x:{n}")).unwrap()
}

fn version(text: &str) -> Answer {
    Answer::Here(Print::of_version(text.into()))
}

/// Asks all that is due, and says how many questions and how many news there were.
fn round(posts: &mut Posts, answer: &Answer) -> (usize, usize) {
    let batches = posts.dispatch();
    let jobs: Vec<Job> = batches.into_iter().flat_map(|batch| batch.jobs).collect();
    let news = jobs.iter().filter(|job| posts.settle(job, answer.clone())).count();
    posts.finish(None, &asked(&jobs), Duration::ZERO, Instant::now());
    (jobs.len(), news)
}

fn asked(jobs: &[Job]) -> Vec<Uri> {
    jobs.iter().map(|job| job.uri.clone()).collect()
}

#[test]
fn what_begins_is_asked_once_and_in_batches() {
    let (mut posts, catalog) = (Posts::default(), Catalog::default());
    for n in (0..BATCH + 1).chain(0..BATCH) {
        posts.begin(watched(n), &catalog);
    }
    let asked: Vec<_> = (0..3).map(|_| round(&mut posts, &Answer::Gone)).collect();
    assert_eq!(asked, [(BATCH, 0), (1, 0), (0, 0)]);
    assert_eq!(posts.known(), BATCH + 1);
    posts.keep(&HashSet::from([watched(0)]));
    assert_eq!((posts.known(), posts.all.len()), (1, 1));
}

#[test]
fn a_hint_that_comes_soon_is_told_whatever_the_answer() {
    let mut posts = Posts::default();
    let provider = ProviderName::parse("p").unwrap();
    posts.begin(watched(0), &Catalog::default());
    let owner = Owner { name: provider.clone(), provider: Weak::new() };
    // The first answer is from after the change; the hint of the change comes behind it.
    assert_eq!(round(&mut posts, &version("2")), (1, 0));
    posts.all.get_mut(&watched(0)).unwrap().owners = vec![owner];
    posts.hint(&provider);
    posts.all.get_mut(&watched(0)).unwrap().owners = vec![];
    posts.desk(None).due.insert(watched(0));
    assert_eq!(round(&mut posts, &version("2")), (1, 1));
    posts.desk(None).due.insert(watched(0));
    assert_eq!(round(&mut posts, &version("2")), (1, 0));
}

/// A hint of a change, of one who has been watched for long.
fn hint(posts: &mut Posts) {
    let provider = ProviderName::parse("p").unwrap();
    let post = posts.all.get_mut(&watched(0)).unwrap();
    post.began = Instant::now().checked_sub(2 * DOUBT).unwrap();
    post.owners = vec![Owner { name: provider.clone(), provider: Weak::new() }];
    posts.hint(&provider);
    posts.all.get_mut(&watched(0)).unwrap().owners = vec![];
    posts.desk(None).due.insert(watched(0));
}

#[test]
fn a_hint_after_what_the_provider_said_is_of_another_change() {
    let mut posts = Posts::default();
    posts.begin(watched(0), &Catalog::default());
    assert_eq!(round(&mut posts, &version("1")), (1, 0));
    posts.said(&watched(0));
    hint(&mut posts);
    assert_eq!(round(&mut posts, &version("3")), (1, 1));
    // The same while it is being asked because of what it said.
    posts.said(&watched(0));
    let jobs = posts.dispatch().remove(0).jobs;
    hint(&mut posts);
    assert!(posts.settle(&jobs[0], version("5")));
    posts.finish(None, &asked(&jobs), Duration::ZERO, Instant::now());
    // And a hint alone is a reason to ask, no more.
    assert_eq!(round(&mut posts, &version("5")), (1, 0));
    hint(&mut posts);
    assert_eq!(round(&mut posts, &version("5")), (1, 0));
}

#[test]
fn what_the_provider_said_covers_no_answer_that_comes_much_later() {
    let mut posts = Posts::default();
    posts.begin(watched(0), &Catalog::default());
    assert_eq!(round(&mut posts, &version("1")), (1, 0));
    posts.said(&watched(0));
    posts.all.get_mut(&watched(0)).unwrap().said = Instant::now().checked_sub(2 * COVERED);
    assert_eq!(round(&mut posts, &version("3")), (1, 1));
}

#[test]
fn what_the_provider_said_is_not_told_again() {
    let mut posts = Posts::default();
    posts.begin(watched(0), &Catalog::default());
    assert_eq!(round(&mut posts, &version("1")), (1, 0));
    posts.said(&watched(0));
    assert_eq!(round(&mut posts, &version("2")), (1, 0));
    posts.desk(None).due.insert(watched(0));
    assert_eq!(round(&mut posts, &version("3")), (1, 1));
    // An answer that was on its way while the provider said so is covered by what it said.
    posts.desk(None).due.insert(watched(0));
    let jobs = posts.dispatch().remove(0).jobs;
    posts.said(&watched(0));
    assert!(!posts.settle(&jobs[0], version("4")));
    posts.finish(None, &asked(&jobs), Duration::ZERO, Instant::now());
    assert_eq!(round(&mut posts, &version("4")), (1, 0));
}

#[test]
fn what_is_too_much_for_one_call_is_asked_in_smaller_ones() {
    let (mut posts, catalog) = (Posts::default(), Catalog::default());
    (0..BATCH).for_each(|n| posts.begin(watched(n), &catalog));
    let asked: Vec<_> = (0..2).map(|_| round(&mut posts, &Answer::TooMuch).0).collect();
    assert_eq!(asked, [BATCH, BATCH / 4]);
    let asked: Vec<_> = (0..4).map(|_| round(&mut posts, &version("1"))).collect();
    assert_eq!(asked, [(BATCH / 16, 0), (BATCH / 4, 0), (BATCH - BATCH / 16 - BATCH / 4, 0), (0, 0)]);
    assert_eq!(posts.known(), BATCH);
}

#[test]
fn who_only_fails_rests_longer_and_longer() {
    let mut posts = Posts::default();
    posts.begin(watched(0), &Catalog::default());
    let now = Instant::now();
    let rest = |posts: &mut Posts, answer: &Answer| {
        posts.desk(None).due.insert(watched(0));
        let jobs = posts.dispatch().remove(0).jobs;
        posts.settle(&jobs[0], answer.clone());
        posts.finish(None, &asked(&jobs), Duration::from_millis(10), now);
        posts.desk(None).rests_until.unwrap() - now
    };
    assert_eq!(rest(&mut posts, &Answer::Failed), Duration::from_secs(2));
    assert_eq!(rest(&mut posts, &Answer::Failed), Duration::from_secs(4));
    assert_eq!(rest(&mut posts, &Answer::Gone), Duration::from_millis(30));
    let long = (0..20).map(|_| rest(&mut posts, &Answer::Failed)).last();
    assert_eq!(long, Some(LONGEST_REST));
}

#[test]
fn what_got_no_answer_is_asked_again_without_a_tick() {
    let mut posts = Posts::default();
    (0..3).for_each(|n| posts.begin(watched(n), &Catalog::default()));
    posts.said(&watched(1));
    let jobs = posts.dispatch().remove(0).jobs;
    let now = Instant::now();
    // One failed, one was not asked at all, since others failed before it, and one is known.
    let of = |n| jobs.iter().find(|job| job.uri == watched(n)).unwrap();
    assert!(!posts.settle(of(0), Answer::Failed) && !posts.settle(of(2), version("1")));
    posts.finish(None, &asked(&jobs), Duration::ZERO, now);
    assert!(posts.dispatch().is_empty());
    let at = posts.next_retry().unwrap();
    assert_eq!(at, now + Duration::from_secs(1));
    posts.retry(at);
    let jobs = posts.dispatch().remove(0).jobs;
    assert_eq!(HashSet::<Uri>::from_iter(asked(&jobs)), HashSet::from([watched(0), watched(1)]));
    // What its provider said is still known to those who watch.
    assert!(jobs.iter().all(|job| job.quiet == (job.uri == watched(1))));
    posts.finish(None, &asked(&jobs), Duration::ZERO, at);
    assert_eq!(posts.next_retry(), Some(at + Duration::from_secs(2)), "twice as long each time");
    posts.retry(at + Duration::from_secs(2));
    assert_eq!(round(&mut posts, &version("1")).0, 2);
    assert_eq!(posts.next_retry(), None);
}
