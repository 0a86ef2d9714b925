package fakegithub

import (
	"maps"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// root is what a query starts from.
func (q *query) root() node {
	return node{"Query", map[string]field{
		"repository": func(args map[string]any) any {
			owner, _ := args["owner"].(string)
			name, _ := args["name"].(string)
			r, moved := q.lookup(owner, name)
			follow, said := args["followRenames"].(bool)
			if r == nil || moved && said && !follow || q.may(reading("metadata"), r) != nil {
				return gqlError("NOT_FOUND", "Could not resolve to a Repository with the name '%s/%s'.", owner, name)
			}
			return q.repositoryNode(r)
		},
		"viewer": func(map[string]any) any { return *q.actorNode(q.caller.account()) },
		"rateLimit": func(map[string]any) any {
			u := q.quotaOf(q.caller)
			return node{"RateLimit", map[string]field{
				"cost": is(1), "limit": is(hourly), "used": is(u.used), "remaining": is(hourly - u.used), "resetAt": is(stamp(u.start.Add(3600e9))),
			}}
		},
	}}
}

func (q *query) actorNode(a *account) *node {
	if a == nil {
		return nil
	}
	return &node{a.kind, map[string]field{
		"id": is(nodeID("U", a.id)), "databaseId": is(a.id), "login": is(strings.TrimSuffix(a.login, "[bot]")), "name": is(a.name), "url": is(q.html("/%s", a.login)),
	}}
}

// forbidden is what a field answers that the token has no permission for.
func (q *query) forbidden(r *repository, scopes ...string) any {
	if q.may(reading(scopes...), r) != nil {
		return gqlError("FORBIDDEN", "Resource not accessible by integration")
	}
	return nil
}

func (q *query) repositoryNode(r *repository) node {
	return node{"Repository", map[string]field{
		"id": is(nodeID("R", r.id)), "databaseId": is(r.id), "name": is(r.name), "nameWithOwner": is(r.fullName()), "owner": is(q.actorNode(r.owner)),
		"isPrivate": is(r.private), "isArchived": is(r.archived), "isFork": is(r.fork != nil), "url": is(q.repositoryHTML(r)),
		"defaultBranchRef": func(map[string]any) any { return q.refNode(r, "refs/heads/"+r.defaultBranch) },
		"ref": func(args map[string]any) any {
			name, _ := args["qualifiedName"].(string)
			if !strings.HasPrefix(name, "refs/") {
				name = "refs/heads/" + name
			}
			return q.refNode(r, name)
		},
		"pullRequest": func(args map[string]any) any {
			if denied := q.forbidden(r, "pull_requests"); denied != nil {
				return denied
			}
			number, _ := integer(args["number"])
			if i := r.issues[number]; i != nil && i.pull != nil {
				return q.pullNode(r, i)
			}
			return gqlError("NOT_FOUND", "Could not resolve to a PullRequest with the number of %d.", number)
		},
		"pullRequests": func(args map[string]any) any {
			if denied := q.forbidden(r, "pull_requests"); denied != nil {
				return denied
			}
			return connection("PullRequestConnection", selectPulls(r, args), args, func(i *issue) node { return q.pullNode(r, i) })
		},
	}}
}

// selectPulls filters and orders; without an order the oldest comes first.
func selectPulls(r *repository, args map[string]any) []*issue {
	list := r.pulls()
	slices.Reverse(list)
	names := func(key string) []string {
		var out []string
		values, _ := args[key].([]any)
		for _, v := range values {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	states, labels := names("states"), names("labels")
	head, _ := args["headRefName"].(string)
	base, _ := args["baseRefName"].(string)
	list = slices.DeleteFunc(list, func(i *issue) bool {
		return len(states) > 0 && !slices.Contains(states, i.state()) ||
			len(labels) > 0 && !slices.ContainsFunc(labels, i.hasLabel) ||
			head != "" && i.pull.head.ref != head || base != "" && i.pull.base != base
	})
	if order, ok := args["orderBy"].(map[string]any); ok {
		if order["field"] == "UPDATED_AT" {
			slices.SortStableFunc(list, func(a, b *issue) int { return a.updated.Compare(b.updated) })
		}
		if order["direction"] == "DESC" {
			slices.Reverse(list)
		}
	}
	return list
}

// state is GraphQL's word for where a pull request stands.
func (i *issue) state() string {
	switch {
	case i.pull.merged:
		return "MERGED"
	case i.closed:
		return "CLOSED"
	}
	return "OPEN"
}

func (q *query) refNode(r *repository, name string) *node {
	id := r.refs[name]
	if id == "" {
		return nil
	}
	prefix := name[:len(name)-len(strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/tags/"))]
	short := strings.TrimPrefix(name, prefix)
	return &node{"Ref", map[string]field{
		"id": is(nodeSHA("REF", git.ID(name))), "name": is(short), "prefix": is(prefix),
		"target": func(map[string]any) any { return q.commitNode(r, id) },
		"branchProtectionRule": func(map[string]any) any {
			p := r.protections[short]
			if p == nil || prefix != "refs/heads/" {
				return nil
			}
			return node{"BranchProtectionRule", map[string]field{
				"id": is(nodeSHA("BPR", git.ID(name))), "requiresCommitSignatures": is(p.RequiredSignatures),
				"requiresStatusChecks": is(len(p.RequiredChecks) > 0), "requiredStatusCheckContexts": is(nonNil(p.RequiredChecks)),
			}}
		},
	}}
}

func (q *query) pullNode(r *repository, i *issue) node {
	p := i.pull
	return node{"PullRequest", map[string]field{
		"id": is(nodeID("PR", i.id)), "databaseId": is(i.id), "number": is(i.number), "title": is(i.title), "body": is(i.body),
		"url": is(q.html("/%s/pull/%d", r.fullName(), i.number)), "state": is(i.state()), "author": is(q.actorNode(i.user)),
		"isDraft": is(p.draft), "closed": is(i.closed), "merged": is(p.merged), "isCrossRepository": is(p.head.repository != r),
		"createdAt": is(stamp(i.created)), "updatedAt": is(stamp(i.updated)), "maintainerCanModify": is(p.maintainerCanModify),
		"headRefName": is(p.head.ref), "headRefOid": is(p.head.sha), "baseRefName": is(p.base), "baseRefOid": is(q.baseSHA(r, i)),
		"headRepository": func(map[string]any) any {
			if p.head.repository == nil {
				return nil
			}
			return q.repositoryNode(p.head.repository)
		},
		"headRepositoryOwner": func(map[string]any) any {
			if p.head.repository == nil {
				return nil
			}
			return q.actorNode(p.head.repository.owner)
		},
		"mergeable": func(map[string]any) any {
			yes, known := q.Server.mergeable(r, i)
			switch {
			case !known:
				return "UNKNOWN"
			case yes:
				return "MERGEABLE"
			}
			return "CONFLICTING"
		},
		"reviewDecision": func(map[string]any) any { return orNull(i.decision(r.protections[p.base])) },
		"labels": func(args map[string]any) any {
			return connection("LabelConnection", i.labels, args, func(l *label) node {
				return node{"Label", map[string]field{"id": is(nodeID("LA", l.id)), "name": is(l.name), "color": is(l.color), "description": is(orNull(l.description))}}
			})
		},
		"commits": func(args map[string]any) any {
			cmp, err := q.comparison(r, i)
			if err != nil {
				return gqlError("", "%v", err)
			}
			return connection("PullRequestCommitConnection", cmp.Ahead, args, func(c git.Commit) node {
				return node{"PullRequestCommit", map[string]field{"id": is(nodeSHA("PRC", c.ID)), "commit": func(map[string]any) any { return q.commitNode(r, c.ID) }}}
			})
		},
	}}
}

func (q *query) commitNode(r *repository, id git.ID) *node {
	c, err := r.git.Commit(q.ctx, id)
	if err != nil {
		return nil
	}
	person := func(g git.Signature) field {
		return is(node{"GitActor", map[string]field{
			"name": is(g.Name), "email": is(g.Email),
			"user": func(map[string]any) any {
				if a := q.accountOf(g.Email); a != nil && a.kind == kindUser {
					return q.actorNode(a)
				}
				return nil
			},
		}})
	}
	headline, _, _ := strings.Cut(c.Message, "\n")
	return &node{"Commit", map[string]field{
		"id": is(nodeSHA("C", id)), "oid": is(id), "message": is(c.Message), "messageHeadline": is(headline), "committedDate": is(when(c.Committer)),
		"author": person(c.Author), "committer": person(c.Committer),
		"parents": func(args map[string]any) any {
			return connection("CommitConnection", c.Parents, args, func(p git.ID) node { return *q.commitNode(r, p) })
		},
		"statusCheckRollup": func(map[string]any) any {
			// Both permissions are needed for what is made of both.
			for _, scope := range []string{"checks", "statuses"} {
				if denied := q.forbidden(r, scope); denied != nil {
					return denied
				}
			}
			return q.rollupNode(r, id)
		},
	}}
}

func (q *query) rollupNode(r *repository, id git.ID) any {
	state, counts := r.rollup(id)
	if state == "" {
		return nil
	}
	runs, statuses := r.latestChecks(id), r.latestStatuses(id)
	return node{"StatusCheckRollup", map[string]field{
		"id": is(nodeSHA("SCR", id)), "state": is(state),
		"contexts": func(args map[string]any) any {
			list := []node{}
			for _, c := range runs {
				list = append(list, node{"CheckRun", map[string]field{
					"id": is(nodeID("CR", c.id)), "databaseId": is(c.id), "name": is(c.name), "status": is(strings.ToUpper(c.status)),
					"conclusion": is(orNull(strings.ToUpper(c.conclusion))), "detailsUrl": is(orNull(c.detailsURL)),
				}})
			}
			for _, s := range statuses {
				list = append(list, node{"StatusContext", map[string]field{
					"id": is(nodeID("SC", s.id)), "context": is(s.context), "state": is(strings.ToUpper(s.state)), "description": is(orNull(s.description)), "targetUrl": is(orNull(s.target)),
				}})
			}
			if args["first"] == nil && args["last"] == nil {
				args["first"] = int64(100) // counts alone need no page
			}
			made := connection("StatusCheckRollupContextConnection", list, args, func(n node) node { return n })
			n, fine := made.(node)
			if !fine {
				return made
			}
			var byState []node
			for _, s := range slices.Sorted(maps.Keys(counts)) {
				byState = append(byState, node{"CheckRunStateCount", map[string]field{"state": is(s), "count": is(counts[s])}})
			}
			n.fields["checkRunCount"], n.fields["statusContextCount"] = is(len(runs)), is(len(statuses))
			n.fields["checkRunCountsByState"] = is(byState)
			return n
		},
	}}
}
