//! Each way in which a file of the folder can come, change and go.

use std::fs;
use std::io::Write as _;
use std::time::Duration;

use super::{file, first, running};
use crate::house::Plan;
use crate::revision::{NOW, number, revision, text, until};

#[tokio::test]
async fn a_new_file_is_served() {
    let house = running(Plan::of("echo")).await;
    assert_eq!(house.text(NOW).await, format!("error: no resource at `{NOW}`"));
    fs::write(file(&house), revision(1)).unwrap();
    house.serves(1).await;
    assert!(house.uris().await.contains(&format!("revision://only/{}", text(1))));
    assert!(house.text("echo://hello").await.starts_with("uri: echo://hello\n"));
}

#[tokio::test]
async fn a_file_that_is_written_over_takes_over() {
    let house = first().await;
    house
        .answers(&[1, 2], async {
            fs::write(file(&house), revision(2)).unwrap();
            house.serves(2).await;
        })
        .await;
    let only: Vec<_> =
        house.uris().await.into_iter().filter(|uri| uri.starts_with("revision://only/")).collect();
    assert_eq!(only, [format!("revision://only/{}", text(2))]);
}

#[tokio::test]
async fn a_file_that_is_renamed_over_takes_over() {
    let house = first().await;
    let elsewhere = tempfile::TempDir::new().unwrap();
    let beside = [house.plugins.join("revision.new"), house.plugins.join("other.wasm~")];
    let places = beside.into_iter().chain([elsewhere.path().join("revision.wasm")]);
    for (place, number) in places.zip(2..) {
        let change = async {
            fs::write(&place, revision(number)).unwrap();
            fs::rename(&place, file(&house)).unwrap();
            house.serves(number).await;
        };
        house.answers(&[number - 1, number], change).await;
    }
}

#[tokio::test]
async fn a_file_that_is_renamed_is_another_provider() {
    let house = first().await;
    fs::rename(file(&house), house.plugins.join("other.wasm")).unwrap();
    let names = || -> Vec<String> {
        house.reader.snapshot().offers().iter().map(|offer| offer.name().to_string()).collect()
    };
    until("the other name", async || names() == ["other"]).await;
    assert_eq!(house.text(NOW).await, text(1));
}

#[tokio::test]
async fn a_file_that_is_written_slowly_takes_over_when_it_is_whole() {
    let house = first().await;
    let bytes = revision(2);
    let change = async {
        let mut file = fs::File::create(file(&house)).unwrap();
        for piece in bytes.chunks(bytes.len().div_ceil(8)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
            file.write_all(piece).unwrap();
        }
        house.serves(2).await;
    };
    house.answers(&[1, 2], change).await;
    until("nothing is rejected", async || house.reader.snapshot().rejected().is_empty()).await;
}

#[tokio::test]
async fn a_new_file_that_is_written_slowly_is_served_when_it_is_whole() {
    let house = running(Plan::of("echo")).await;
    let mut file = fs::File::create(file(&house)).unwrap();
    for piece in revision(1).chunks(8 << 10) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        file.write_all(piece).unwrap();
    }
    house.serves(1).await;
    until("nothing is rejected", async || house.reader.snapshot().rejected().is_empty()).await;
}

#[tokio::test]
async fn a_file_that_is_removed_is_gone() {
    let house = running(Plan::of("echo").file("revision.wasm", &revision(1))).await;
    assert_eq!(house.text(NOW).await, text(1));
    fs::remove_file(file(&house)).unwrap();
    let gone = format!("error: no resource at `{NOW}`");
    until("the end of it", async || house.text(NOW).await == gone).await;
    assert!(house.uris().await.iter().all(|uri| uri.starts_with("echo:")));
}

#[tokio::test]
async fn a_file_that_is_removed_and_made_again_is_there() {
    let house = first().await;
    for number in 2..12 {
        fs::remove_file(file(&house)).unwrap();
        tokio::task::yield_now().await;
        fs::write(file(&house), revision(number)).unwrap();
    }
    house.serves(11).await;
    // The very same comes back, too.
    fs::remove_file(file(&house)).unwrap();
    fs::write(file(&house), revision(11)).unwrap();
    fs::write(house.plugins.join("echo.wasm"), fs::read(crate::house::component("echo")).unwrap()).unwrap();
    until("a later one", async || !house.text("echo://hello").await.starts_with("error")).await;
    house.serves(11).await;
}

#[tokio::test]
async fn fifty_at_once_are_served_and_go() {
    let house = running(Plan::of("echo")).await;
    let place = |number| house.plugins.join(format!("revision-{number}.wasm"));
    for number in 1..=50 {
        fs::write(place(number), revision(number)).unwrap();
    }
    let own = |number| format!("revision://only/{}", text(number));
    until("all of them", async || {
        let uris = house.uris().await;
        (1..=50).all(|number| uris.contains(&own(number)))
    })
    .await;
    for number in 1..=50 {
        assert_eq!(house.text(&own(number)).await, text(number));
    }
    assert!((1..=50).contains(&number(&house.text(NOW).await)));
    (1..=50).for_each(|number| fs::remove_file(place(number)).unwrap());
    until("none of them", async || house.reader.snapshot().offers().len() == 1).await;
}
