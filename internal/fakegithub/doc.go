// Package fakegithub is a GitHub of our own, for tests and for the demo: stateful, over
// real bare repositories, so that files, diffs, object names and merges are git's.
//
// It answers REST at / and /api/v3/, GraphQL at /graphql and /api/graphql, git over
// smart HTTP at /OWNER/NAME.git, and plain pages at /. It checks what GitHub checks: App
// JWTs, installation tokens with their repositories and permissions, signatures wanted
// by a branch. It sends webhooks with GUIDs and HMACs, keeps the list of deliveries and
// redelivers. And it fails on demand, see [Fault].
//
// What GitHub would do but a test need not see is left out: search, milestones, teams,
// review threads, rebase merges. A request for it gets 404 and is counted as unknown.
//
// All state is in memory under one mutex, beside the repositories on disk. Time comes
// from [Options.Clock]. It serves on a loopback address only: its secrets are not secret.
package fakegithub
