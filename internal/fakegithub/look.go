package fakegithub

import (
	"slices"
	"time"
)

// PullRequest is one as it stands.
type PullRequest struct {
	Number             int
	Title, Body, State string // State is open, closed or merged
	Author             string // login
	Head, HeadSHA      string
	Base, BaseSHA      string
	Labels             []string
	Draft              bool
	MergeCommit        string
	Created, Updated   time.Time
}

// PullRequests lists a repository's pull requests, oldest first.
func (s *Server) PullRequests(repository string) ([]PullRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return nil, err
	}
	list := []PullRequest{}
	for _, i := range r.pulls() {
		p := PullRequest{
			Number: i.number, Title: i.title, Body: i.body, State: fold(i.state()), Author: i.user.login, Head: i.pull.head.ref, HeadSHA: string(i.pull.head.sha),
			Base: i.pull.base, BaseSHA: string(s.baseSHA(r, i)), Draft: i.pull.draft, MergeCommit: string(i.pull.mergeCommit), Created: i.created, Updated: i.updated,
		}
		for _, l := range i.labels {
			p.Labels = append(p.Labels, l.name)
		}
		list = append(list, p)
	}
	slices.Reverse(list)
	return list, nil
}

// CommentView is a comment on a pull request or issue.
type CommentView struct {
	ID        int64
	Author    string
	Body      string
	Edited    bool
	Reactions []string
}

// Comments lists those of a pull request or issue, oldest first.
func (s *Server) Comments(repository string, number int) ([]CommentView, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return nil, err
	}
	i := r.issues[number]
	if i == nil {
		return nil, ErrNotFound
	}
	list := []CommentView{}
	for _, c := range i.comments {
		v := CommentView{ID: c.id, Author: c.user.login, Body: c.body, Edited: c.updated.After(c.created)}
		for _, x := range c.reactions {
			v.Reactions = append(v.Reactions, x.content)
		}
		list = append(list, v)
	}
	return list, nil
}

// Repositories lists all by name.
func (s *Server) Repositories() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, r := range s.repositories {
		names = append(names, r.fullName())
	}
	slices.Sort(names)
	return names
}
