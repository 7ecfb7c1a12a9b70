// The quick start of the README through the client that a generator made of
// docs/openapi.json: node quickstart.mjs URL. The client is client.js beside it.
import assert from "node:assert/strict";
import { Api } from "./client.js";

const { v1, readyz } = new Api({ baseUrl: process.argv[2] });

await readyz.ready();
const script = "echo hello from $POISE_JOB_NAME; sleep 1";
const hello = { job: "hello", request: { cpu: "500m", memory: "64Mi" }, command: ["sh", "-c", script] };
const submitted = await v1.submitJobs({ jobs: [hello] }, { headers: { "Idempotency-Key": "one" } });
const { id } = submitted.data.jobs[0];

// The same key gives the same job.
const again = await v1.submitJobs({ jobs: [hello] }, { headers: { "Idempotency-Key": "one" } });
assert.equal(again.data.jobs[0].id, id);

let job;
do {
  await new Promise((resolve) => setTimeout(resolve, 50));
  job = (await v1.getJob(id)).data;
} while (["waiting", "starting", "running"].includes(job.state));
assert.equal(job.state, "succeeded");
assert.equal(job.exit_code, 0);

const output = await v1.jobLogs("hello", { tail: 5 });
assert.equal(await output.text(), "hello from hello\n");

const why = (await v1.explainJob("hello")).data;
assert.equal(why.decision.verdict, "placed");
assert.equal(why.decision.node, job.node);

const plan = (await v1.planJob({ job: "giant", request: { cpu: 5000 } })).data;
assert.equal(plan.decision.verdict, "never-fits");
assert.equal(plan.decision.refused[0].nodes, 1);

const { nodes } = (await v1.listNodes({ state: "ready" })).data;
assert.deepEqual(nodes.map((n) => n.name), [job.node]);

const listed = (await v1.listJobs({ name: "hello", limit: 10 })).data;
assert.deepEqual(listed.jobs.map((j) => j.id), [id]);

// A failure is a problem, which says what was expected.
await assert.rejects(v1.getJob("nobody"), (answer) => answer.status === 404 && answer.error.detail.includes('job "nobody": no such job'));
await assert.rejects(v1.planJob({ job: "x", request: { cpu: "much" } }), (answer) => answer.status === 422 && answer.error.errors[0].location === "body.request.cpu");

console.log("quick start done");
