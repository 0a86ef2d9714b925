// Drives the simulated GitHub with GitHub's own JavaScript client. Reads what to use
// from the environment, prints what it saw as JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { APP_ID, PRIVATE_KEY, API_URL, MODULES } = process.env;
// Octokit is an ES module, which the Node 18 of Debian 12 imports and does not require.
const found = createRequire(`${MODULES}/`).resolve("octokit");
const { App, Octokit } = await import(pathToFileURL(found).href);

const app = new App({ appId: APP_ID, privateKey: PRIVATE_KEY, Octokit: Octokit.defaults({ baseUrl: API_URL }) });
const repo = { owner: "acme", repo: "widgets" };
const seen = {};

const { data: me } = await app.octokit.request("GET /app");
seen.app = me.slug;

for await (const { installation } of app.eachInstallation.iterator()) seen.installation = installation.id;
const octokit = await app.getInstallationOctokit(seen.installation);

const pulls = await octokit.paginate(octokit.rest.pulls.list, { ...repo, per_page: 2 });
seen.pulls = pulls.map((p) => p.number);

const { data: run } = await octokit.rest.checks.create({
  ...repo, name: "octokit", head_sha: pulls[0].head.sha, external_id: "t_1", status: "in_progress",
});
await octokit.rest.checks.update({
  ...repo, check_run_id: run.id, status: "completed", conclusion: "neutral",
  output: { title: "Done", summary: "Nothing.", annotations: [{ path: "a", start_line: 1, end_line: 1, annotation_level: "notice", message: "here" }] },
});
const { data: annotations } = await octokit.rest.checks.listAnnotations({ ...repo, check_run_id: run.id });
seen.annotations = annotations.length;

const { data: comment } = await octokit.rest.issues.createComment({ ...repo, issue_number: 1, body: "from octokit 🎉" });
await octokit.rest.reactions.createForIssueComment({ ...repo, comment_id: comment.id, content: "rocket" });
await octokit.rest.issues.addLabels({ ...repo, issue_number: 1, labels: ["octokit"] });

const { data: file } = await octokit.rest.repos.getContent({ ...repo, path: "README.md" });
seen.readme = Buffer.from(file.content, "base64").toString();
const { data: written } = await octokit.rest.repos.createOrUpdateFileContents({
  ...repo, path: "deep/er.txt", message: "write", content: Buffer.from("hi\n").toString("base64"), branch: "b1",
});
seen.written = written.commit.sha;

const { repository } = await octokit.graphql(
  `query ($owner: String!, $repo: String!) {
    repository(owner: $owner, name: $repo) {
      pullRequests(first: 10, states: OPEN) { nodes { number commits(last: 1) { nodes { commit { statusCheckRollup { state } } } } } }
    }
  }`,
  repo,
);
seen.graph = repository.pullRequests.nodes.map((n) => n.number);

try {
  await octokit.rest.pulls.create({ ...repo, title: "again", head: "b1", base: "main" });
} catch (error) {
  seen.refused = `${error.status} ${error.response.data.errors[0].message}`;
}
console.log(JSON.stringify(seen));
