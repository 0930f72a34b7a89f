//! Tests of the provider with a document in a file, and responses of an API.

mod files;

use std::cell::RefCell;
use std::rc::Rc;

use larder_provider::http::{self, Request as HttpRequest, Response};
use larder_provider::{
    Body, CompletionRequest, Error, Provider as _, Query, Request, SearchQuery, set_setting,
};
use serde_json::{Value, json};

use crate::{OpenApi, schema, tools};

const DOCUMENT: &str = r##"
openapi: 3.0.3
info: { title: Pet shop, version: "1.2", description: Sells pets. }
servers: [{ url: "https://{host}/v1", variables: { host: { default: api.example } } }]
paths:
  /pets:
    get:
      operationId: listPets
      summary: Lists the pets
      tags: [pets]
      parameters:
        - { name: limit, in: query, schema: { type: integer, maximum: 100 } }
      responses:
        200:
          description: The pets
          content: { application/json: { schema: { type: array, items: { $ref: "#/components/schemas/Pet" } } } }
    post:
      operationId: addPet
      requestBody: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } }
      responses: { 201: { description: Added } }
  /pets/{id}/photo:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    put:
      summary: "Replaces | the photo"
      requestBody: { required: true, content: { image/png: {} } }
      responses: {}
    get:
      operationId: photo
      description: Returns one photo.
      responses: {}
components:
  schemas:
    Pet:
      description: A pet.
      type: object
      required: [id, name]
      properties:
        id: { type: integer, readOnly: true }
        name: { type: string, description: What it is called. }
        parent: { $ref: "#/components/schemas/Pet" }
    a/b: { type: string, enum: [x, y] }
"##;

fn provider(document: &str) -> (OpenApi, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.yaml");
    std::fs::write(&path, document).unwrap();
    set_setting("document", path.to_str().unwrap());
    set_setting("name", "shop");
    (OpenApi::new().unwrap(), folder)
}

fn read(provider: &OpenApi, path: &str, variables: &[(&str, &str)]) -> Result<String, Error> {
    let uri = format!("openapi://shop/{path}");
    let request = Request::new(&uri);
    let request = if variables.is_empty() {
        request
    } else {
        request.matched(&uri, variables)
    };
    let reading = provider.read(&request)?;
    assert!(reading.version.is_some() && reading.freshness.is_some());
    let Body::Text(text) = reading.contents[0].body.clone() else {
        panic!("bytes")
    };
    Ok(text)
}

#[test]
fn lists_operations_and_schemas() {
    let (provider, _folder) = provider(DOCUMENT);
    let page = provider.list(&Query::new(100)).unwrap();
    let paths: Vec<_> = page
        .entries
        .iter()
        .map(|entry| &entry.uri["openapi://shop/".len()..])
        .collect();
    let expected = [
        "",
        "document.json",
        "operations/addPet",
        "operations/listPets",
        "operations/photo",
        "operations/put_pets_id_photo",
        "schemas/Pet",
        "schemas/a%2Fb",
    ];
    assert_eq!(paths, expected);
    let versions = provider
        .versions(&["openapi://shop/".into(), "other:x".into()])
        .unwrap();
    assert_eq!(versions, [page.entries[0].version.clone(), None]);
}

#[test]
fn pages_are_linked() {
    let (provider, _folder) = provider(DOCUMENT);
    let overview = read(&provider, "", &[]).unwrap();
    for part in [
        "# Pet shop\n",
        "Version: 1.2",
        "## pets\n\n- [GET /pets](openapi://shop/operations/listPets): Lists",
    ] {
        assert!(overview.contains(part), "{part} in {overview}");
    }
    let page = |name: &str| read(&provider, "operations/{operation}", &[("operation", name)]);
    let list = page("listPets").unwrap();
    for part in [
        "# GET /pets",
        "Tool: `listPets`",
        "| `limit` | query |  | integer |",
        "list of [Pet](openapi://shop/schemas/Pet)",
    ] {
        assert!(list.contains(part), "{part} in {list}");
    }
    assert!(
        page("put_pets_id_photo")
            .unwrap()
            .contains("No tool can call this operation: its body has a media type")
    );
    assert_eq!(page("gone"), Err(Error::NotFound));
    let pet = read(&provider, "schemas/{schema}", &[("schema", "Pet")]).unwrap();
    assert!(
        pet.contains(
            "- `name` (string, required): What it is called.\n- `parent` ([Pet](openapi://shop/schemas/Pet))"
        ),
        "{pet}"
    );
    assert!(
        read(&provider, "schemas/{schema}", &[("schema", "a/b")])
            .unwrap()
            .contains("Type: \"x\", \"y\"")
    );
    let json = read(
        &provider,
        "operations/{operation}/json",
        &[("operation", "addPet")],
    )
    .unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["components"]["/components/schemas/Pet"]["type"],
        "object"
    );
    assert_eq!(read(&provider, "nothing", &[]), Err(Error::NotFound));
}

#[test]
fn completes_and_searches() {
    let (provider, _folder) = provider(DOCUMENT);
    let complete = |variable: &str, prefix: &str| {
        let uri_template = "openapi://shop/operations/{operation}".to_owned();
        let (variable, prefix) = (variable.to_owned(), prefix.to_owned());
        provider
            .complete(&CompletionRequest {
                uri_template,
                variable,
                prefix,
                filled: vec![],
            })
            .map(|it| it.values)
    };
    assert_eq!(
        complete("operation", "p"),
        Ok(vec!["photo".into(), "put_pets_id_photo".into()])
    );
    assert_eq!(complete("schema", ""), Ok(vec!["Pet".into(), "a/b".into()]));
    assert_eq!(complete("other", ""), Err(Error::NotFound));
    let hits = provider
        .search(&SearchQuery::new("PHOTO returns", 5))
        .unwrap()
        .hits;
    let uris: Vec<_> = hits.iter().map(|hit| hit.entry.uri.as_str()).collect();
    assert_eq!(uris, ["openapi://shop/operations/photo"]);
    assert_eq!(
        provider.search(&SearchQuery::new("pet", 5)).unwrap().hits[0]
            .entry
            .name,
        "listPets"
    );
}

#[test]
fn arguments_have_schemas() {
    let (provider, _folder) = provider(DOCUMENT);
    let api = provider.api().unwrap();
    let arguments = |name: &str| {
        let operation = api
            .operations
            .iter()
            .find(|operation| operation.name == name)
            .unwrap();
        schema::arguments(&api.document, &operation.inputs(&api.document).unwrap())
    };
    let pet = json!({ "type": "object", "description": "A pet.", "required": ["name"], "properties": {
        "name": { "type": "string", "description": "What it is called." }, "parent": { "$ref": "#/$defs/Pet" } } });
    let expected = json!({ "type": "object", "additionalProperties": false, "required": ["body"],
        "properties": { "body": { "$ref": "#/$defs/Pet" } }, "$defs": { "Pet": pet } });
    assert_eq!(arguments("addPet"), expected);
    assert_eq!(
        arguments("listPets")["properties"]["limit"],
        json!({ "type": "integer", "maximum": 100 })
    );
    assert_eq!(tools::all(&api, &provider.settings).len(), 3);
}

fn call(
    provider: &OpenApi,
    name: &str,
    arguments: Value,
) -> Result<(bool, Vec<HttpRequest>), Error> {
    let log = Rc::new(RefCell::new(Vec::new()));
    let seen = log.clone();
    http::set_responder(move |request| {
        seen.borrow_mut().push(request.clone());
        Ok(Response {
            status: 200,
            headers: vec![],
            body: b"done".to_vec(),
        })
    });
    let api = provider.api()?;
    let operation = api
        .operations
        .iter()
        .find(|operation| operation.name == name)
        .unwrap();
    let result = provider.call(&api, operation, &arguments)?;
    Ok((result.is_error, log.take()))
}

#[test]
fn tools_call_the_api() {
    let (provider, _folder) = provider(DOCUMENT);
    let (_, requests) = call(&provider, "listPets", json!({ "limit": 5 })).unwrap();
    assert_eq!(requests[0].url, "https://api.example/v1/pets?limit=5");
    let (_, requests) = call(&provider, "addPet", json!({ "body": { "name": "Rex" } })).unwrap();
    let request = &requests[0];
    let content_type = ("content-type".to_owned(), "application/json".to_owned());
    assert_eq!(
        (request.method.as_str(), request.body.as_slice()),
        ("POST", br#"{"name":"Rex"}"#.as_slice())
    );
    assert!(request.headers.contains(&content_type), "{request:?}");
    let (_, requests) = call(&provider, "photo", json!({ "id": "a/b?c" })).unwrap();
    assert_eq!(
        requests[0].url,
        "https://api.example/v1/pets/a%2Fb%3Fc/photo"
    );
    let (is_error, requests) = call(&provider, "photo", json!({ "id": ".." })).unwrap();
    assert_eq!((is_error, requests.len()), (true, 0));
}

#[test]
fn secrets_need_a_configured_server() {
    set_setting("token", "hush-hush");
    let (provider, _folder) = self::provider(DOCUMENT);
    assert!(matches!(
        call(&provider, "listPets", json!({})),
        Err(Error::Denied(_))
    ));
    set_setting("server", "https://own.example/api");
    let (provider, _folder) = self::provider(DOCUMENT);
    let (_, requests) = call(&provider, "listPets", json!({})).unwrap();
    assert_eq!(requests[0].url, "https://own.example/api/pets");
    assert!(
        requests[0]
            .headers
            .contains(&("authorization".into(), "Bearer hush-hush".into()))
    );
}

#[test]
fn a_missing_document_says_what_to_do() {
    let (_, folder) = provider(DOCUMENT);
    set_setting(
        "document",
        folder.path().join("gone.yaml").to_str().unwrap(),
    );
    let provider = OpenApi::new().unwrap();
    let message = provider.list(&Query::new(1)).unwrap_err().to_string();
    assert!(
        message.contains("grant its folder with `dirs`"),
        "{message}"
    );
    set_setting("max_document", "100B");
    let (provider, _folder) = self::provider(DOCUMENT);
    let message = provider.list(&Query::new(1)).unwrap_err().to_string();
    assert!(
        message.contains("larger than the limit of 100 bytes (setting `max_document`)"),
        "{message}"
    );
}
