package yarn

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// known are requirements that berry adds to packages which forgot them. The
// entry of such a package does not show it, only the one of what it needs. A
// name may end in *. Every release of yarn has its own list, so what is here
// leads to a descriptor if it is there, and misses none.
const known = `
@babel/parser@* -> @babel/types@^7.8.3
@cypress/snapshot@* -> debug@^3.2.7
@google-cloud/firestore@<=4.9.3 -> protobufjs@^6.8.6
@npmcli/metavuln-calculator@<2.0.0 -> json-parse-even-better-errors@^2.3.1
@playwright/test@<=1.14.1 -> jest-matcher-utils@^26.4.2
@pm2/agent@<1.0.4 -> debug@*
@rebass/forms@* -> @styled-system/should-forward-prop@^5.0.0
@vue/cli-plugin-typescript@<=5.0.0-alpha.0 -> babel-loader@^8.1.0
@vue/cli-plugin-typescript@<=5.0.0-beta.0 -> @babel/core@^7.12.16
@vuetify/cli-plugin-utils@<=0.0.4 -> semver@^6.3.0
@webpack-cli/package-utils@<=1.0.1-alpha.4 -> cross-spawn@^7.0.3
babel-plugin-remove-graphql-queries@<3.14.0 -> @babel/runtime@^7.14.8
babel-plugin-remove-graphql-queries@<3.14.0 -> gatsby-core-utils@^2.8.0-next.1
babel-plugin-remove-graphql-queries@<=4.20.0 -> @babel/types@^7.15.4
babel-preset-gatsby-package@<1.14.0 -> @babel/runtime@^7.14.8
babel-preset-react-app@>=10.0.0 <10.0.2 -> @babel/plugin-proposal-private-property-in-object@^7.16.7
bin-links@<2.3.0 -> mkdirp-infer-owner@^1.0.2
cacheable-lookup@<4.1.2 -> @types/keyv@^3.1.1
cordova-ios@<=6.3.0 -> underscore@^1.9.2
cordova-lib@<=10.0.1 -> underscore@^1.9.2
create-gatsby@<1.14.0 -> @babel/runtime@^7.14.8
elm-webpack-loader@* -> temp@^0.9.4
eslint-import-resolver-vite@<2.0.1 -> debug@^4.3.4
eslint-import-resolver-vite@<2.0.1 -> resolve@^1.22.8
focus-trap-react@^8.0.0 -> tabbable@^5.3.2
gatsby-*@* -> @babel/runtime@^7.14.8
gatsby-core-utils@<2.14.0 -> got@8.3.2
gatsby-plugin-gatsby-cloud@<=3.1.0 -> gatsby-core-utils@^2.13.0-next.0
gatsby-plugin-i18n@* -> ramda@^0.24.1
gatsby-plugin-mdx@<3.1.0 -> mkdirp@^1.0.4
gatsby-plugin-netlify@3.13.0-next.1 -> gatsby-core-utils@^2.13.0-next.0
gatsby-plugin-page-creator@<=4.20.0 -> fs-extra@^10.1.0
gatsby-plugin-sharp@<=4.6.0 -> debug@^4.3.1
gatsby-plugin-utils@<3.14.0 -> fastq@^1.13.0
gatsby-react-router-scroll@<5.6.0 -> prop-types@^15.7.2
gatsby-remark-prismjs@<3.3.28 -> lodash@^4
gatsby-source-apiserver@* -> babel-polyfill@^6.26.0
got@<11 -> @types/keyv@^3.1.1
got@<11 -> @types/responselike@^1.0.0
jest-vue-preprocessor@* -> @babel/core@7.8.7
jest-vue-preprocessor@* -> @babel/template@7.8.6
jss-plugin-rule-value-function@<=10.1.1 -> tiny-warning@^1.0.2
material-table@^2.0.0 -> @babel/runtime@^7.11.2
mqtt@<4.2.7 -> duplexify@^4.1.1
notistack@^3.0.0 -> csstype@^3.0.10
query-ast@<1.0.5 -> lodash@^4.17.21
react-bootstrap-table2-paginator@* -> classnames@^2.2.6
react-instantsearch-dom@<=6.7.0 -> react-fast-compare@^3.0.0
scss-parser@<=1.0.5 -> lodash@^4.17.21
skypack@<=0.3.2 -> tar@^6.1.0
snowpack@<3.8.6 -> magic-string@^0.25.7
snowpack@>=3.3.0 -> node-gyp@^7.1.0
sodium@>=3 -> node-gyp@^3.8.0
terser@<=5.10.0 -> acorn@^8.5.0
testcafe@<=1.10.1 -> @babel/plugin-transform-for-of@^7.12.1
testcafe@<=1.10.1 -> @babel/runtime@^7.12.5
testcafe-legacy-api@<=4.2.0 -> read-file-relative@^1.2.0
testcafe-legacy-api@<=4.2.0 -> testcafe-hammerhead@^17.0.1
typescript-language-server@* -> vscode-jsonrpc@^5.0.1
typescript-language-server@* -> vscode-languageserver-protocol@^3.15.0
unified@<10 -> @types/unist@^2.0.0
useragent@^2.0.0 -> request@^2.88.0
useragent@^2.0.0 -> semver@5.5.x
useragent@^2.0.0 -> yamlparser@0.0.x
vue-cli-plugin-vuetify@<=2.0.3 -> semver@^6.3.0
vue-cli-plugin-vuetify@<=2.0.4 -> null-loader@^3.0.0
winston-transport@<=4.4.0 -> logform@^2.2.0
`

// An extension is a requirement that berry adds to some versions of a package.
type extension struct{ versions, name, rng string }

// extensions are what berry adds, by package.
type extensions map[string][]extension

func knownExtensions() extensions {
	out := extensions{}
	for l := range strings.SplitSeq(strings.TrimSpace(known), "\n") {
		of, need, _ := strings.Cut(l, " -> ")
		name, versions := descriptorOf(of)
		x := extension{versions: versions}
		x.name, x.rng = descriptorOf(need)
		out[name] = append(out[name], x)
	}
	return out
}

// edges are what berry adds to a package, beside what it asks for itself.
func (x extensions) edges(r npm.Ranges, e *entry) []lockfile.Edge {
	name, _ := descriptorOf(e.at)
	list := x[name]
	if family, _, ok := strings.Cut(name, "-"); ok {
		list = append(list[:len(list):len(list)], x[family+"-*"]...)
	}
	var out []lockfile.Edge
	for _, add := range list {
		if ok, known := r.Satisfies(add.versions, e.version); known && !ok {
			continue
		}
		if deps := find(e.fields, "dependencies"); deps != nil && find(deps.sub, add.name) != nil {
			continue
		}
		for _, edge := range needs(add.name, add.rng, e.at, e.prefixed()) {
			edge.Kind = lockfile.Optional
			out = append(out, edge)
		}
	}
	return out
}
