package fakegithub

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

//go:embed schema.graphql
var schemaSource string

type schema = ast.Schema

func loadSchema() (*schema, error) {
	s, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphql", Input: schemaSource})
	if err != nil {
		return nil, fmt.Errorf("the simulated GitHub's own schema: %w", err)
	}
	return s, nil
}

// node is an object of the graph: its type, and its fields, made when asked for.
type node struct {
	kind   string
	fields map[string]field
}

// field gives a value: a scalar, a node, a []node, or nil.
type field func(args map[string]any) any

func is(v any) field { return func(map[string]any) any { return v } }

func gqlError(kind, format string, args ...any) object {
	return object{"type": kind, "message": fmt.Sprintf(format, args...)}
}

// graphql answers a query: 200 with data or errors, as GitHub does even for mistakes.
func (c *call) graphql() reply {
	if c.caller.token == nil {
		return refuse(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
	}
	in, bad := decode[struct {
		Query         string         `json:"query"`
		OperationName string         `json:"operationName"`
		Variables     map[string]any `json:"variables"`
	}](c)
	if bad != nil {
		return *bad
	}
	document, problems := gqlparser.LoadQueryWithRules(c.schema, in.Query, rules.NewDefaultRules())
	if len(problems) > 0 {
		errors := []object{}
		for _, p := range problems {
			errors = append(errors, object{"message": p.Message, "locations": p.Locations, "extensions": object{"code": p.Rule}})
		}
		return ok(object{"errors": errors})
	}
	operation := document.Operations.ForName(in.OperationName)
	if operation == nil {
		return ok(object{"errors": []object{gqlError("", "No operation named %q", in.OperationName)}})
	}
	variables, err := validator.VariableValues(c.schema, operation, in.Variables)
	if err != nil {
		return ok(object{"errors": []object{gqlError("", "%s", err)}})
	}
	q := &query{call: c, variables: variables}
	data := q.selection(q.root(), operation.SelectionSet, nil)
	answer := object{"data": data}
	if len(q.errors) > 0 {
		answer["errors"] = q.errors
	}
	return ok(answer)
}

// query is one execution.
type query struct {
	*call
	variables map[string]any
	errors    []object
	// path is where in the answer the execution is.
	path []any
}

// selection makes the answer's object for a node.
func (q *query) selection(n node, set ast.SelectionSet, out object) object {
	if out == nil {
		out = object{}
	}
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			if !q.included(s.Directives) {
				continue
			}
			q.path = append(q.path, s.Alias)
			out[s.Alias] = q.value(n, s)
			q.path = q.path[:len(q.path)-1]
		case *ast.InlineFragment:
			if q.included(s.Directives) && q.applies(s.TypeCondition, n) {
				q.selection(n, s.SelectionSet, out)
			}
		case *ast.FragmentSpread:
			if q.included(s.Directives) && q.applies(s.Definition.TypeCondition, n) {
				q.selection(n, s.Definition.SelectionSet, out)
			}
		}
	}
	return out
}

func (q *query) value(n node, f *ast.Field) any {
	if f.Name == "__typename" {
		return n.kind
	}
	get := n.fields[f.Name]
	if get == nil {
		q.fail(gqlError("", "the simulated GitHub does not know %s.%s", n.kind, f.Name))
		return nil
	}
	switch v := get(f.ArgumentMap(q.variables)).(type) {
	case node:
		return q.selection(v, f.SelectionSet, nil)
	case *node:
		if v == nil {
			return nil
		}
		return q.selection(*v, f.SelectionSet, nil)
	case []node:
		list := []any{}
		for _, one := range v {
			list = append(list, q.selection(one, f.SelectionSet, nil))
		}
		return list
	case object: // an error
		q.fail(v)
		return nil
	default:
		return v
	}
}

func (q *query) fail(problem object) {
	problem["path"] = append([]any{}, q.path...)
	q.errors = append(q.errors, problem)
}

// applies says whether a fragment's type is the node's, or one that includes it.
func (q *query) applies(condition string, n node) bool {
	if condition == "" || condition == n.kind {
		return true
	}
	for _, d := range q.schema.PossibleTypes[condition] {
		if d.Name == n.kind {
			return true
		}
	}
	return false
}

func (q *query) included(list ast.DirectiveList) bool {
	for _, d := range list {
		yes, _ := d.ArgumentMap(q.variables)["if"].(bool)
		if d.Name == "skip" && yes || d.Name == "include" && !yes {
			return false
		}
	}
	return true
}

// connection cuts a page out of a list: cursors are positions. make gives the nodes.
func connection[T any](kind string, list []T, args map[string]any, make func(T) node) any {
	from, to := 0, len(list)
	if after, ok := args["after"].(string); ok {
		if _, err := fmt.Sscanf(after, "cursor:%d", &from); err != nil {
			return gqlError("INVALID_CURSOR_ARGUMENTS", "`%s` does not appear to be a valid cursor.", after)
		}
		from = min(from, len(list))
	}
	first, hasFirst := integer(args["first"])
	last, hasLast := integer(args["last"])
	switch {
	case !hasFirst && !hasLast:
		return gqlError("MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value to properly paginate the `%s` connection.", kind)
	case first > 100 || last > 100:
		return gqlError("EXCESSIVE_PAGINATION", "Requesting %d records on the `%s` connection exceeds the `first` limit of 100 records.", max(first, last), kind)
	case hasFirst:
		to = min(from+first, len(list))
	default:
		from = max(from, len(list)-last)
	}
	nodes, edges := []node{}, []node{}
	for at, one := range list[from:to] {
		n := make(one)
		nodes = append(nodes, n)
		edges = append(edges, node{strings.TrimSuffix(kind, "Connection") + "Edge", map[string]field{"node": is(n), "cursor": is(cursor(from + at + 1))}})
	}
	var start, end any
	if to > from {
		start, end = cursor(from+1), cursor(to)
	}
	return node{kind, map[string]field{
		"nodes": is(nodes), "edges": is(edges), "totalCount": is(len(list)),
		"pageInfo": is(node{"PageInfo", map[string]field{
			"hasNextPage": is(to < len(list)), "hasPreviousPage": is(from > 0), "startCursor": is(start), "endCursor": is(end),
		}}),
	}}
}

func cursor(at int) string { return fmt.Sprintf("cursor:%d", at) }

func integer(v any) (int, bool) {
	switch n := v.(type) {
	case int64:
		return int(n), true
	case int:
		return n, true
	case float64:
		return int(n), true
	}
	return 0, false
}
