package gittest

import (
	"os"
	"path/filepath"
	"strings"
)

// absent is the name of no object.
const absent = "1111111111111111111111111111111111111111"

// Traps lists the ways that are known in which git runs a program that a
// repository, a person's configuration or the environment names.
func Traps() []Trap {
	traps := []Trap{
		alone("core.hooksPath", func(b *bait) {
			b.local("core.hooksPath=" + filepath.Join(b.dir, "hooks"))
			b.write(filepath.Join(b.dir, "hooks/reference-transaction"), b.call(), 0o755)
		}, "update-ref", "refs/heads/new", "main"),
		alone("core.hooksPath of one working tree", func(b *bait) {
			b.local("core.repositoryFormatVersion=1", "extensions.worktreeConfig=true")
			b.write(filepath.Join(b.GitDir, "config.worktree"), config([]string{"core.hooksPath=" + filepath.Join(b.dir, "hooks")}), 0o644)
			b.write(filepath.Join(b.dir, "hooks/reference-transaction"), b.call(), 0o755)
		}, "update-ref", "refs/heads/new", "main"),
		{
			Name: "hook by configuration", beside: "configuration", since: [2]int{2, 54},
			set: func(b *bait) {
				b.local("hook.bait.event=reference-transaction", "hook.bait.command="+b.script)
			},
			fire: func(b *bait) { b.run("update-ref", "refs/heads/new", "main") },
		},

		local("core.fsmonitor", "status"),
		local("merge.bait.driver", "merge-tree", "--write-tree", "main", "bump"),
		local("merge.bait.driver", "merge", "bump"),
		alone("merge.default", func(b *bait) {
			b.write(filepath.Join(b.GitDir, "info/attributes"), "* !merge\n", 0o644)
			b.local("merge.default=other", "merge.other.driver="+b.script)
		}, "merge-tree", "--write-tree", "main", "bump"),
		alone("merge driver by info/attributes", func(b *bait) {
			b.write(filepath.Join(b.GitDir, "info/attributes"), "* merge=other\n", 0o644)
			b.local("merge.other.driver=" + b.script)
		}, "merge-tree", "--write-tree", "main", "bump"),
		alone("merge driver by core.attributesFile", func(b *bait) {
			_ = os.Remove(filepath.Join(b.Dir, ".gitattributes")) // which has more say
			b.write(filepath.Join(b.dir, "attributes"), "* merge=other\n", 0o644)
			b.local("core.attributesFile="+filepath.Join(b.dir, "attributes"), "merge.other.driver="+b.script)
		}, "merge-tree", "--write-tree", "main", "bump"),
		setting("filter.bait.clean", func(b *bait) {
			b.local("filter.bait.clean=" + b.script)
			b.write(filepath.Join(b.Dir, "new"), "text\n", 0o644)
		}, "add", "new"),
		local("filter.bait.smudge", "checkout", "bump"),
		local("filter.bait.process", "checkout", "bump"),
		setting("filter for a merge that renormalises", func(b *bait) {
			b.local("filter.bait.smudge="+b.script, "filter.bait.clean=cat", "merge.renormalize=true")
		}, "merge-tree", "--write-tree", "main", "bump"),
		local("diff.bait.textconv", "diff", "main", "bump"),
		local("diff.bait.textconv", "log", "-p", "bump"),
		local("diff.bait.command", "diff", "main", "bump"),
		local("diff.external", "diff", "main", "bump"),
		local("core.sshCommand", "fetch", "ssh://localhost/x"),
		local("core.gitProxy", "fetch", "git://localhost/x"),
		local("core.pager", "grep", "--open-files-in-pager", "main"),
		local("core.editor", "commit", "--allow-empty"),
		local("sequence.editor", "rebase", "-i", "HEAD~1"),
		{
			Name: "credential.helper", beside: "configuration",
			set:  func(b *bait) { b.local("credential.helper=!" + b.script) },
			fire: askPassword,
		},
		{
			Name: "core.askPass", beside: "configuration",
			set:  func(b *bait) { b.local("core.askPass=" + b.script) },
			fire: askPassword,
		},
		local("gpg.program", "commit", "--allow-empty", "-S", "-m", "x"),
		setting("gpg.program by log.showSignature", func(b *bait) {
			b.local("gpg.program="+b.script, "log.showSignature=true")
		}, "log", "-1", "main"),
		setting("gpg.ssh.defaultKeyCommand", func(b *bait) {
			b.local("gpg.format=ssh", "commit.gpgSign=true", "gpg.ssh.defaultKeyCommand="+b.script)
		}, "commit", "--allow-empty", "-m", "x"),
		setting("alias", func(b *bait) { b.local("alias.bait=!" + b.script) }, "bait"),
		setting("trailer.bait.cmd", func(b *bait) { b.local("trailer.bait.key=Bait", "trailer.bait.cmd="+b.script) }, "interpret-trailers", "--trailer", "bait=x", filepath.Join(".git", "HEAD")),
		setting("remote.origin.uploadPack", func(b *bait) {
			b.local("remote.origin.url=.", "remote.origin.uploadPack="+b.script)
		}, "fetch", "origin"),
		setting("url.insteadOf to ext::", func(b *bait) {
			b.local("url.ext::"+b.script+" .insteadOf=x:", "protocol.ext.allow=always")
		}, "fetch", "x:y"),
		setting("a missing object of a partial clone", func(b *bait) {
			b.local("core.repositoryFormatVersion=1", "extensions.partialClone=origin", "remote.origin.promisor=true",
				"remote.origin.url=file://"+b.Dir, "remote.origin.uploadPack="+b.script)
			b.Branch("nowhere", absent)
		}, "cat-file", "-e", absent),
		setting("core.alternateRefsCommand", func(b *bait) {
			other := New(b.t)
			b.write(filepath.Join(b.GitDir, "objects/info/alternates"), filepath.Join(other.GitDir, "objects")+"\n", 0o644)
			b.local("core.alternateRefsCommand=" + b.script + " #")
		}, "rev-list", "--alternate-refs"),
		setting("include.path", func(b *bait) {
			b.write(filepath.Join(b.GitDir, "more"), config([]string{"core.fsmonitor=" + b.script}), 0o644)
			b.local("include.path=more")
		}, "status"),
		setting("includeIf", func(b *bait) {
			b.write(filepath.Join(b.GitDir, "more"), config([]string{"diff.external=" + b.script}), 0o644)
			b.local("includeIf.gitdir:**.path=more")
		}, "diff", "main", "bump"),
		alone("submodule.update", func(b *bait) {
			b.write(filepath.Join(b.Dir, ".gitmodules"), config([]string{"submodule.m.path=m", "submodule.m.url=./."}), 0o644)
			b.local("submodule.m.active=true", "submodule.m.url="+b.Dir, "submodule.m.update=!"+b.script)
			b.Git("-c", "core.fsmonitor=false", "update-index", "--add", "--cacheinfo", "160000,"+string(b.Resolve("main"))+",m")
		}, "-c", "protocol.file.allow=always", "submodule", "update"),

		// What only a person's configuration can name.
		{
			Serial: true, beside: "surroundings",
			Name: "uploadpack.packObjectsHook",
			set:  func(b *bait) { b.person("uploadpack.packObjectsHook=" + b.script) },
			fire: func(b *bait) { b.run("clone", "-q", "--no-local", b.Dir, filepath.Join(b.dir, "copy")) },
		},
		{
			Serial: true, beside: "surroundings",
			Name: "init.templateDir",
			set: func(b *bait) {
				b.write(filepath.Join(b.dir, "template/hooks/reference-transaction"), b.call(), 0o755)
				b.person("init.templateDir=" + filepath.Join(b.dir, "template"))
			},
			fire: func(b *bait) {
				b.run("init", "-q", filepath.Join(b.dir, "new"))
				b.run("-C", filepath.Join(b.dir, "new"), "commit", "--allow-empty", "-m", "x")
			},
		},
		{
			Serial: true, beside: "surroundings",
			Name: "a person's core.hooksPath",
			set: func(b *bait) {
				b.write(filepath.Join(b.dir, "hooks/reference-transaction"), b.call(), 0o755)
				b.person("core.hooksPath=" + filepath.Join(b.dir, "hooks"))
			},
			fire: func(b *bait) { b.run("update-ref", "refs/heads/new", "main") },
		},
		{
			Serial: true, beside: "surroundings",
			Name: "a person's trace2.normalTarget",
			set:  func(b *bait) { b.person("trace2.normalTarget=" + b.marker) },
			fire: func(b *bait) { b.run("status") },
		},

		// What the environment can name.
		env("GIT_EXTERNAL_DIFF", "diff", "main", "bump"),
		env("GIT_SSH_COMMAND", "fetch", "ssh://localhost/x"),
		env("GIT_SSH", "fetch", "ssh://localhost/x"),
		env("GIT_PROXY_COMMAND", "fetch", "git://localhost/x"),
		{
			Serial: true, beside: "surroundings",
			Name: "GIT_ASKPASS",
			set:  func(b *bait) { b.t.Setenv("GIT_ASKPASS", b.script) },
			fire: askPassword,
		},
		env("GIT_EDITOR", "commit", "--allow-empty"),
		env("GIT_PAGER", "grep", "--open-files-in-pager", "main"),
		{
			Serial: true, beside: "surroundings",
			Name: "GIT_TRACE2",
			set:  func(b *bait) { b.t.Setenv("GIT_TRACE2", b.marker) },
			fire: func(b *bait) { b.run("status") },
		},
		{
			Serial: true, beside: "surroundings",
			Name: "GIT_CONFIG_COUNT",
			set: func(b *bait) {
				b.t.Setenv("GIT_CONFIG_COUNT", "1")
				b.t.Setenv("GIT_CONFIG_KEY_0", "diff.external")
				b.t.Setenv("GIT_CONFIG_VALUE_0", b.script)
			},
			fire: func(b *bait) { b.run("diff", "main", "bump") },
		},
		{
			Serial: true, beside: "surroundings",
			Name: "GIT_CONFIG_PARAMETERS",
			set:  func(b *bait) { b.t.Setenv("GIT_CONFIG_PARAMETERS", "'diff.external'='"+b.script+"'") },
			fire: func(b *bait) { b.run("diff", "main", "bump") },
		},
		{
			Serial: true, beside: "surroundings",
			Name: "GIT_EXEC_PATH",
			set: func(b *bait) {
				b.write(filepath.Join(b.dir, "exec/git-bait"), b.call(), 0o755)
				b.write(filepath.Join(b.dir, "exec/git"), b.call(), 0o755)
				b.t.Setenv("GIT_EXEC_PATH", filepath.Join(b.dir, "exec"))
			},
			fire: func(b *bait) { b.run("bait") },
		},
		{
			Serial: true, beside: "surroundings",
			Name: "GIT_TEMPLATE_DIR",
			set: func(b *bait) {
				b.write(filepath.Join(b.dir, "template/hooks/reference-transaction"), b.call(), 0o755)
				b.t.Setenv("GIT_TEMPLATE_DIR", filepath.Join(b.dir, "template"))
			},
			fire: func(b *bait) {
				b.run("init", "-q", filepath.Join(b.dir, "new"))
				b.run("-C", filepath.Join(b.dir, "new"), "commit", "--allow-empty", "-m", "x")
			},
		},
	}
	return append(traps, hooks()...)
}

// call is a script that runs the trap's own, for where one must lie in a place.
func (b *bait) call() string { return "#!/bin/sh\nexec '" + b.script + "'\n" }

// askPassword has git ask for one, for a host that it never talks to.
func askPassword(b *bait) {
	cmd := b.Command("credential", "fill")
	cmd.Stdin = strings.NewReader("protocol=https\nhost=localhost\n\n")
	out, err := cmd.CombinedOutput()
	b.t.Logf("git credential fill: %v\n%s", err, out)
}

// setting is a trap that one command of plain git springs.
func setting(name string, set func(*bait), fire ...string) Trap {
	return Trap{beside: "configuration", Name: name + " on " + fire[0], set: set, fire: func(b *bait) { b.run(fire...) }}
}

// alone is a setting that takes something away from other traps, or that git is
// needed to make.
func alone(name string, set func(*bait), fire ...string) Trap {
	tr := setting(name, set, fire...)
	tr.beside = ""
	return tr
}

// local is a setting of the repository that names the program itself.
func local(key string, fire ...string) Trap {
	return setting(key, func(b *bait) { b.local(key + "=" + b.script) }, fire...)
}

// env is a variable that names the program itself.
func env(name string, fire ...string) Trap {
	tr := setting(name, func(b *bait) { b.t.Setenv(name, b.script) }, fire...)
	tr.Serial, tr.beside = true, "surroundings"
	return tr
}

// hooks are the programs in the hooks folder, with what calls each.
func hooks() []Trap {
	push := func(b *bait) {
		b.run("-c", "core.hooksPath=/dev/null", "config", "receive.denyCurrentBranch", "updateInstead")
		copied := filepath.Join(b.dir, "copy")
		b.run("clone", "-q", b.Dir, copied)
		b.run("-C", copied, "commit", "-q", "--allow-empty", "-m", "x")
		b.run("-C", copied, "push", "-q", "origin", "HEAD:main")
	}
	command := func(args ...string) func(*bait) {
		return func(b *bait) { b.run(args...) }
	}
	var traps []Trap
	for name, fire := range map[string]func(*bait){
		"applypatch-msg": func(b *bait) {
			patch := filepath.Join(b.dir, "patch")
			b.write(patch, b.Git("format-patch", "-1", "--stdout", "bump")+"\n", 0o644)
			b.run("am", patch)
		},
		"commit-msg":        command("commit", "--allow-empty", "-m", "x"),
		"post-checkout":     command("checkout", "-b", "new"),
		"post-commit":       command("commit", "--allow-empty", "-m", "x"),
		"post-index-change": func(b *bait) { b.write(filepath.Join(b.Dir, "new"), "", 0o644); b.run("add", "new") },
		"post-merge":        command("merge", "-s", "ours", "bump"),
		"post-receive":      push,
		"post-rewrite":      command("commit", "--amend", "--allow-empty", "-m", "x"),
		"post-update":       push,
		"pre-auto-gc": func(b *bait) {
			b.Git("repack", "-q", "-d")
			b.Commit("more", "main", Files{"more": "text"})
			b.Git("repack", "-q", "-d")
			b.run("-c", "gc.autoPackLimit=1", "-c", "gc.autoDetach=false", "gc", "--auto")
		},
		"pre-commit":            command("commit", "--allow-empty", "-m", "x"),
		"pre-merge-commit":      command("merge", "-s", "ours", "bump"),
		"pre-push":              func(b *bait) { b.run("push", ".", "main:new") },
		"pre-rebase":            command("rebase", "bump"),
		"pre-receive":           push,
		"prepare-commit-msg":    command("commit", "--allow-empty", "-m", "x"),
		"push-to-checkout":      push,
		"reference-transaction": command("update-ref", "refs/heads/new", "main"),
		"update":                push,
	} {
		traps = append(traps, Trap{
			Name: "hook " + name, beside: "hooks",
			set:  func(b *bait) { b.write(filepath.Join(b.GitDir, "hooks", name), b.call(), 0o755) },
			fire: fire,
		})
	}
	return traps
}
