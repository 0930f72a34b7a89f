// Serves a bucket with s3rver, which checks signatures, until its standard input ends. Prints its address.
// Usage: node store.cjs FOLDER_OF_PACKAGES FOLDER_OF_OBJECTS SECRET
const { createRequire } = require("node:module");
const [packages, directory, secret] = process.argv.slice(2);
const load = createRequire(packages + "/");
const S3rver = load("s3rver");
// Its own secret has too few bytes for a secret that the host sends.
load("s3rver/lib/models/account").DUMMY_ACCOUNT.createKeyPair("S3RVER", secret);

const store = new S3rver({
  directory,
  address: "127.0.0.1",
  port: 0,
  silent: true,
  vhostBuckets: false,
  configureBuckets: [{ name: "team", configs: [] }],
});
store.run().then(({ address, port }) => console.log(`http://${address}:${port}`));
process.stdin.on("end", () => process.exit(0)).resume();
