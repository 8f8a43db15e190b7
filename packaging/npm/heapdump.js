#!/usr/bin/env node
// Runs the program of the package for this platform, which npm installs beside this one.
"use strict";
const { spawn } = require("node:child_process");

const name = `heapdump-cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/heapdump${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`heapdump: the package ${name} is not installed: optional dependencies were left out, or there is no program for this platform`);
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`heapdump: ${error.message}`);
  process.exit(2);
});
// A terminal sends INT to both; the program ends as it wants to, and this one with it.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
