#!/usr/bin/env node
// Starts the program of Larder from the package of this platform.
"use strict";

const { spawn } = require("node:child_process");
const path = require("node:path");

const FORWARDED = ["SIGHUP", "SIGINT", "SIGTERM"];

function platformPackage() {
  return `larder-mcp-${process.platform}-${process.arch}`;
}

function findProgram() {
  const manifest = require.resolve(`${platformPackage()}/package.json`);
  return path.join(path.dirname(manifest), "bin", "larder");
}

function fail(message) {
  console.error(`larder-mcp: ${message}`);
  process.exit(1);
}

function explainMissing() {
  const supported = Object.keys(require("../package.json").optionalDependencies);
  if (!supported.includes(platformPackage())) {
    fail(`there is no program for ${process.platform} on ${process.arch}, only the packages ${supported.join(", ")}`);
  }
  fail(
    `the package ${platformPackage()} is not installed; install larder-mcp again, with optional dependencies ` +
      "(without --omit=optional or --no-optional)",
  );
}

function run(program) {
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  for (const signal of FORWARDED) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) => fail(`cannot start ${program}: ${error.message}`));
  child.on("exit", (code, signal) => end(code, signal));
}

/** Ends as the program ended, so that a shell or a client sees the same. */
function end(code, signal) {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

let program;
try {
  program = findProgram();
} catch {
  explainMissing();
}
run(program);
