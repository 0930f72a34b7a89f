//! The time of searches in the full-text index and in lists is CPU time of the team.

use std::sync::Arc;
use std::time::Duration;

use larder_core::gateway::TeamParts;
use larder_core::search_index::IndexProgress;
use larder_model::policy::{Quota, QuotaUsage};
use larder_model::search::SearchQuery;
use larder_model::text_index::{Change, Document, Limits, TextIndex};
use larder_search::{IndexThread, TantivyIndex};
use tempfile::TempDir;

use crate::support::harness::{
    SLOW_WAIT, TestServer, anonymous_call, eventually_within, gateway_of, parse_uri,
};

#[tokio::test]
async fn a_search_is_charged_and_waits_for_cpu_time() {
    let server = TestServer::builder("echo").start().await;
    let folder = TempDir::new().unwrap();
    let index = TantivyIndex::new(
        folder.path().join("index"),
        Limits::default(),
        IndexThread::default(),
    );
    let document = Document {
        provider: server.reader.snapshot().offers()[0].name().clone(),
        uri: parse_uri("echo://hello"),
        title: "Marmots".into(),
        text: Some("An alpine marmot.".into()),
        state: "v1".into(),
    };
    index.apply(vec![Change::Put(document)]).await.unwrap();
    let quota = Quota {
        cpu: Duration::from_millis(1),
        ..Quota::default()
    };
    let quota_usage = Arc::new(QuotaUsage::new(quota));
    let team = TeamParts {
        quota_usage: Some(quota_usage.clone()),
        index: IndexProgress::new(Some(Arc::new(index))),
        ..server.gateway_parts()
    };
    let gateway = gateway_of([team], 100);
    let query = SearchQuery {
        text: "marmot".into(),
        ..SearchQuery::default()
    };
    let search = async || {
        gateway
            .search(&anonymous_call(), &query, None)
            .await
            .unwrap()
    };

    let found = search().await;
    assert_eq!((found.results.len(), found.incomplete.len()), (1, 0));
    let is_charged = async || {
        search().await;
        quota_usage.cpu_wait().is_some()
    };
    eventually_within(
        SLOW_WAIT,
        "the searches have used the CPU time of the team",
        is_charged,
    )
    .await;
    quota_usage.charge_cpu(Duration::from_secs(1));
    assert_eq!(
        search().await.incomplete,
        ["echo", "full-text index of default"]
    );
}

#[tokio::test]
async fn ranking_a_list_is_charged() {
    let server = TestServer::builder("echo").start().await;
    let quota = Quota {
        cpu: Duration::from_millis(1),
        ..Quota::default()
    };
    let quota_usage = Arc::new(QuotaUsage::new(quota));
    let team = TeamParts {
        quota_usage: Some(quota_usage.clone()),
        ..server.gateway_parts()
    };
    let gateway = gateway_of([team], 100);
    let query = SearchQuery {
        text: "hello".into(),
        ..SearchQuery::default()
    };
    let is_charged = async || {
        gateway
            .search(&anonymous_call(), &query, None)
            .await
            .unwrap();
        quota_usage.cpu_wait().is_some()
    };
    eventually_within(
        SLOW_WAIT,
        "the searches have used the CPU time of the team",
        is_charged,
    )
    .await;
}
