package fakegithub_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

// candidates is what a consolidation asks.
const candidates = `query Candidates($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(states: OPEN, first: 100, after: $after) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes {
        number title body isDraft mergeable reviewDecision
        author { __typename login }
        headRefName headRefOid baseRefName
        headRepository { databaseId nameWithOwner }
        labels(first: 20) { nodes { name } }
        commits(last: 1) { nodes { commit { oid statusCheckRollup { state contexts(first: 1) { checkRunCountsByState { state count } } } } } }
      }
    }
  }
}`

func (s *stage) graphql(token, query string, variables map[string]any, into any) []string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	must(s.t, err)
	code, text, _ := s.ask("POST", "/api/graphql", "bearer "+token, string(body))
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	must(s.t, json.Unmarshal([]byte(text), &answer))
	if code != 200 {
		s.t.Fatalf("%d %s", code, text)
	}
	if into != nil && answer.Data != nil {
		must(s.t, json.Unmarshal(answer.Data, into))
	}
	var problems []string
	for _, e := range answer.Errors {
		problems = append(problems, e.Message)
	}
	return problems
}

type candidatePage struct {
	Repository struct {
		PullRequests struct {
			TotalCount int
			PageInfo   struct {
				HasNextPage bool
				EndCursor   string
			}
			Nodes []map[string]any
		}
	}
}

func TestGraphQLCandidates(t *testing.T) {
	s := newStage(t)
	must(t, s.Fork(repo, "carol"))
	s.propose("one", map[string]string{"README.md": "one\n"})
	s.propose("two", map[string]string{"README.md": "two\n"})
	must(t, s.Label(repo, 1, "ann", "dependencies"))
	ci, err := s.App(fakegithub.AppSpec{Name: "CI", Owner: "ci", Permissions: map[string]string{"checks": "write"}, Key: appKey()})
	must(t, err)
	for name, end := range map[string]string{"test": "success", "lint": "failure", "skip": "skipped"} {
		_, err = s.Check(repo, fakegithub.CheckSpec{App: ci.ID, SHA: "two", Name: name, Conclusion: end})
		must(t, err)
	}
	must(t, s.Protect(repo, "main", &fakegithub.Protection{RequiredReviews: 1}))
	must(t, s.Review(repo, 1, "ann", "APPROVED"))
	_, err = s.Commit("carol/widgets", fakegithub.CommitSpec{Branch: "three", Files: map[string]string{"c": "1"}, As: "carol"})
	must(t, err)
	_, err = s.OpenPullRequest(repo, fakegithub.PullSpec{As: "carol", HeadRepository: "carol/widgets", Head: "three", Title: "Three", Draft: true})
	must(t, err)
	must(t, s.DeleteRepository("carol/widgets"))
	_, err = s.Commit(repo, fakegithub.CommitSpec{Branch: "main", Files: map[string]string{"README.md": "main\n"}, As: "ann"})
	must(t, err)

	var got candidatePage
	if problems := s.graphql(s.token(nil), candidates, map[string]any{"owner": "acme", "name": "widgets"}, &got); len(problems) > 0 {
		t.Fatal(problems)
	}
	type m = map[string]any
	pulls, err := s.PullRequests(repo)
	must(t, err)
	commits := func(n int, rollup any) m {
		return m{"nodes": []any{m{"commit": m{"oid": pulls[n-1].HeadSHA, "statusCheckRollup": rollup}}}}
	}
	home := m{"databaseId": got.Repository.PullRequests.Nodes[0]["headRepository"].(m)["databaseId"], "nameWithOwner": repo}
	bot := m{"__typename": "Bot", "login": "dependabot"}
	want := []map[string]any{
		{
			"number": 1.0, "title": "Bump one", "body": "Bumps it.", "isDraft": false, "mergeable": "CONFLICTING", "reviewDecision": "APPROVED", "author": bot,
			"headRefName": "one", "headRefOid": pulls[0].HeadSHA, "baseRefName": "main", "headRepository": home, "labels": m{"nodes": []any{m{"name": "dependencies"}}}, "commits": commits(1, nil),
		},
		{
			"number": 2.0, "title": "Bump two", "body": "Bumps it.", "isDraft": false, "mergeable": "CONFLICTING", "reviewDecision": "REVIEW_REQUIRED", "author": bot,
			"headRefName": "two", "headRefOid": pulls[1].HeadSHA, "baseRefName": "main", "headRepository": home, "labels": m{"nodes": []any{}},
			"commits": commits(2, m{"state": "FAILURE", "contexts": m{"checkRunCountsByState": []any{
				m{"state": "FAILURE", "count": 1.0}, m{"state": "SKIPPED", "count": 1.0}, m{"state": "SUCCESS", "count": 1.0},
			}}}),
		},
		{
			"number": 3.0, "title": "Three", "body": "", "isDraft": true, "mergeable": "MERGEABLE", "reviewDecision": "REVIEW_REQUIRED", "author": m{"__typename": "User", "login": "carol"},
			"headRefName": "three", "headRefOid": pulls[2].HeadSHA, "baseRefName": "main", "headRepository": nil, "labels": m{"nodes": []any{}}, "commits": commits(3, nil),
		},
	}
	if diff := cmp.Diff(want, got.Repository.PullRequests.Nodes); diff != "" {
		t.Error(diff)
	}
}

func TestGraphQLPages(t *testing.T) {
	s := newStage(t)
	for i := range 5 {
		s.propose(fmt.Sprint("b", i), map[string]string{"a": fmt.Sprint(i)})
	}
	query := strings.Replace(candidates, "first: 100", "first: 2", 1)
	token := s.token(nil)
	var seen []float64
	variables := map[string]any{"owner": "acme", "name": "widgets"}
	for pages := 1; ; pages++ {
		var got candidatePage
		if problems := s.graphql(token, query, variables, &got); len(problems) > 0 {
			t.Fatal(problems)
		}
		list := got.Repository.PullRequests
		for _, n := range list.Nodes {
			seen = append(seen, n["number"].(float64))
		}
		if !list.PageInfo.HasNextPage {
			if pages != 3 || list.TotalCount != 5 {
				t.Errorf("%d pages, %d in all", pages, list.TotalCount)
			}
			break
		}
		variables["after"] = list.PageInfo.EndCursor
	}
	if diff := cmp.Diff([]float64{1, 2, 3, 4, 5}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestGraphQLProblems(t *testing.T) {
	s := newStage(t)
	s.propose("one", map[string]string{"a": "1"})
	noChecks := s.token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{PullRequests: github.String("read"), Checks: github.String("read")}})
	powerless := s.token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Metadata: github.String("read")}})
	all := s.token(nil)
	here := map[string]any{"owner": "acme", "name": "widgets"}
	for name, c := range map[string]struct {
		token, query string
		variables    map[string]any
		want         string
	}{
		"over a hundred":           {all, strings.Replace(candidates, "first: 100", "first: 101", 1), here, "exceeds the `first` limit of 100"},
		"without a page":           {all, strings.Replace(candidates, "states: OPEN, first: 100,", "", 1), here, "You must provide a `first` or `last` value"},
		"no such field":            {all, "{ viewer { nothing } }", nil, `Cannot query field "nothing"`},
		"no such repository":       {all, candidates, map[string]any{"owner": "acme", "name": "none"}, "Could not resolve to a Repository"},
		"no pull_requests":         {powerless, candidates, here, "Resource not accessible by integration"},
		"checks without statuses":  {noChecks, candidates, here, "Resource not accessible by integration"},
		"a variable that is wrong": {all, candidates, map[string]any{"owner": 1, "name": nil}, "String"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := s.graphql(c.token, c.query, c.variables, nil)
			if len(problems) == 0 || !strings.Contains(problems[0], c.want) {
				t.Errorf("%q, want %q", problems, c.want)
			}
		})
	}
	if code, _, _ := s.ask("POST", "/graphql", "", `{"query":"{viewer{login}}"}`); code != 401 {
		t.Errorf("nobody: %d", code)
	}
}

// githubSchema loads GitHub's schema, which defines a field twice now and then.
func githubSchema(t *testing.T, text string) *ast.Schema {
	t.Helper()
	document, err := parser.ParseSchemas(validator.Prelude, &ast.Source{Name: "github", Input: text})
	must(t, err)
	for _, d := range document.Definitions {
		seen := map[string]bool{}
		d.Fields = slices.DeleteFunc(d.Fields, func(f *ast.FieldDefinition) bool {
			twice := seen[f.Name]
			seen[f.Name] = true
			return twice
		})
	}
	schema, err := validator.ValidateSchemaDocument(document)
	must(t, err)
	return schema
}

// The simulated schema promises nothing that GitHub's own does not keep: every type,
// field and argument of it stands there with the same type.
func TestSchemaIsPartOfGitHubs(t *testing.T) {
	path := os.Getenv("BAILIFF_GITHUB_SCHEMA")
	if path == "" {
		path = filepath.Join("..", "..", ".cache", "octokit", "node_modules", "@octokit", "graphql-schema", "schema.graphql")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("GitHub's GraphQL schema is not here: scripts/setup octokit fetches it (%v)", err)
	}
	theirs := githubSchema(t, string(data))
	if _, problems := gqlparser.LoadQueryWithRules(theirs, candidates, rules.NewDefaultRules()); len(problems) > 0 {
		t.Errorf("the query of a consolidation: %v", problems)
	}
	own, err := os.ReadFile("schema.graphql")
	must(t, err)
	ours, err := gqlparser.LoadSchema(&ast.Source{Name: "ours", Input: string(own)})
	must(t, err)
	for name, ot := range ours.Types {
		if ot.BuiltIn {
			continue
		}
		tt := theirs.Types[name]
		if tt == nil || tt.Kind != ot.Kind {
			t.Errorf("type %s is not GitHub's", name)
			continue
		}
		for _, of := range ot.Fields {
			if strings.HasPrefix(of.Name, "__") {
				continue
			}
			tf := tt.Fields.ForName(of.Name)
			if tf == nil || tf.Type.String() != of.Type.String() {
				t.Errorf("field %s.%s is %s here, at GitHub %v", name, of.Name, of.Type, tf)
				continue
			}
			for _, oa := range of.Arguments {
				ta := tf.Arguments.ForName(oa.Name)
				if ta == nil || ta.Type.String() != oa.Type.String() {
					t.Errorf("argument %s of %s.%s is not GitHub's", oa.Name, name, of.Name)
				}
			}
		}
		for _, oe := range ot.EnumValues {
			if tt.EnumValues.ForName(oe.Name) == nil {
				t.Errorf("value %s of %s is not GitHub's", oe.Name, name)
			}
		}
	}
}
