// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package rouse_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layer is one row of the layering table: a folder of the module, everything below it included, and the other folders
// of the module that it may import. Tests in the folder follow the same row, and may import forTests, too.
type layer struct {
	folder string // "." is the root package itself
	may    []string
}

// layers is the layering of the module: imports point downward only. A new folder needs a row of its own.
func layers() []layer {
	var (
		belowQueue     = []string{"framework"}
		belowRuntime   = []string{"profiles", "internal/manifest", "internal/lru", "framework"}
		belowPlugins   = []string{"internal/csi", "internal/devices", "internal/apiwrite", "internal/lru", "runtime", "profiles", "framework"}
		belowScheduler = []string{"plugins", "internal/csi", "internal/devices", "internal/apiwrite", "runtime", "queue", "cache", "profiles", "internal/manifest", "framework"}
		belowSimulate  = append([]string{"scheduler"}, belowScheduler...)
		belowInspect   = append([]string{"simulate"}, belowSimulate...)
		belowApp       = append([]string{"internal/render", "internal/scaffold", "inspect"}, belowInspect...)
	)
	return []layer{
		{folder: ".", may: nil},
		{folder: "cmd/rouse", may: []string{"app"}},
		{folder: "app", may: append([]string{"advice", "whatif", "scheduler/extender", "scheduler/metrics"}, belowApp...)},
		{folder: "advice", may: append([]string{"whatif", "inspect"}, belowInspect...)},
		{folder: "whatif", may: append([]string{"inspect", "internal/apihttp", "internal/informer", "internal/tasks", "internal/volumes"}, belowInspect...)},
		{folder: "internal/render", may: append([]string{"inspect"}, belowInspect...)},
		{folder: "inspect", may: append([]string{"internal/randomcluster"}, belowInspect...)},
		{folder: "internal/randomcluster", may: belowInspect},
		{folder: "plugintest", may: append([]string{"plugintest/objects"}, belowInspect...)},
		{folder: "internal/modelcheck", may: append([]string{"internal/informer", "simulate"}, belowSimulate...)},
		{folder: "internal/storm", may: append([]string{"internal/informer", "internal/mutant"}, belowSimulate...)},
		{folder: "simulate", may: append([]string{"internal/apihttp", "internal/fuzzlimit", "internal/informer", "internal/tasks", "internal/volumes"}, belowSimulate...)},
		{folder: "internal/knownbugs", may: append([]string{"plugintest/objects"}, belowSimulate...)},
		{folder: "scheduler/metrics", may: belowSimulate},
		{folder: "scheduler/extender", may: []string{"profiles", "framework"}},
		{folder: "scheduler", may: belowScheduler},
		{folder: "plugins", may: belowPlugins},
		{folder: "runtime", may: belowRuntime},
		{folder: "queue", may: belowQueue},
		{folder: "cache", may: belowQueue},
		{folder: "profiles", may: []string{"internal/fuzzlimit", "internal/manifest", "framework"}},
		{folder: "framework", may: []string{"internal/fuzzlimit"}},
		{folder: "plugintest/objects", may: nil},
		{folder: "internal/apihttp", may: nil},
		{folder: "internal/apiwrite", may: nil},
		{folder: "internal/csi", may: nil},
		{folder: "internal/devices", may: nil},
		{folder: "internal/informer", may: nil},
		{folder: "internal/tasks", may: nil},
		{folder: "internal/lru", may: nil},
		{folder: "internal/scaffold"},
		{folder: "internal/manifest", may: []string{"internal/fuzzlimit"}},
		{folder: "internal/volumes", may: nil},
		{folder: "internal/fuzzlimit", may: nil},
		{folder: "internal/mutant", may: nil},
	}
}

// forTests are the folders that the tests of every folder may import.
func forTests() []string { return []string{"plugintest/objects", "internal/mutant"} }

// isTest reports whether a file is only compiled into tests: it is one, or in a package that only tests import.
func isTest(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "plugins/internal/fixture/")
}

// outside are the folders that hold modules of their own: those of users of this one, and tests with other dependencies.
func outside() []string { return []string{"deploy", "examples", "test"} }

// requiredNames are the names under which some packages are imported everywhere.
func requiredNames() map[string]string {
	return map[string]string{
		"k8s.io/kube-scheduler/framework": "fwk",
		"k8s.io/apimachinery/pkg/runtime": "apiruntime",
	}
}

const (
	forbiddenModule = "k8s.io/kubernetes"
	kubernetes      = "v0.37.1" // the version of every Kubernetes library
	longestFile     = 600       // lines
	licence         = "// Copyright The Rouse Authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"
)

// vagueNames are names of packages that say nothing about what is in them.
func vagueNames() []string { return []string{"util", "utils", "common", "helper", "helpers", "types"} }

// separatelyVersioned are the modules below k8s.io that don't share the version of Kubernetes.
func separatelyVersioned() []string {
	return []string{"k8s.io/klog/v2", "k8s.io/utils", "k8s.io/kube-openapi", "k8s.io/gengo/v2"}
}

func TestImportRules(t *testing.T) {
	for _, v := range checkModule(t, os.DirFS("."), layers()) {
		t.Error(v)
	}
}

// checkModule returns what is wrong with a module, a line for each violation, sorted by place.
func checkModule(t *testing.T, module fs.FS, table []layer) []string {
	t.Helper()
	text, err := fs.ReadFile(module, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod := parseGoMod(string(text))
	c := &checker{module: module, path: mod.path, table: table}
	c.checkGoMod(mod)
	if err := fs.WalkDir(module, ".", c.visit); err != nil {
		t.Fatal(err)
	}
	if c.files == 0 {
		c.violation("go.mod", 1, "the module has no Go files, so nothing was checked")
	}
	slices.SortStableFunc(c.violations, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	var lines []string
	for _, v := range c.violations {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", v.file, v.line, v.text))
	}
	return lines
}

// checker walks one module.
type checker struct {
	module     fs.FS
	path       string // of the module
	table      []layer
	files      int
	violations []violation
}

type violation struct {
	file string
	line int
	text string
}

func (c *checker) violation(file string, line int, format string, args ...any) {
	c.violations = append(c.violations, violation{file, line, fmt.Sprintf(format, args...)})
}

// visit is an fs.WalkDirFunc.
func (c *checker) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if !entry.IsDir() {
		if path.Ext(name) == ".go" {
			return c.checkFile(name)
		}
		return nil
	}
	base := path.Base(name)
	switch {
	case name == ".":
		return nil
	case base == "testdata", base == "vendor", strings.HasPrefix(base, "."), strings.HasPrefix(base, "_"):
		return fs.SkipDir
	}
	if _, err := fs.Stat(c.module, path.Join(name, "go.mod")); err == nil {
		if !slices.Contains(outside(), topFolder(name)) {
			c.violation(name+"/go.mod", 1, "a module of its own belongs into one of the folders %v", outside())
		}
		return fs.SkipDir
	}
	return nil
}

func (c *checker) checkFile(name string) error {
	c.files++
	text, err := fs.ReadFile(c.module, name)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(text), licence) {
		c.violation(name, 1, "the file must start with these two lines and an empty one:\n%s", licence)
	}
	if lines := strings.Count(string(text), "\n"); lines > longestFile {
		c.violation(name, longestFile+1, "the file has %d lines, at most %d are allowed: split it by concept", lines, longestFile)
	}
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	if packageName := strings.TrimSuffix(file.Name.Name, "_test"); slices.Contains(vagueNames(), packageName) {
		c.violation(name, positions.Position(file.Name.Pos()).Line, "package %s: name it for what it holds", packageName)
	}
	from, known := c.layerOf(path.Dir(name))
	switch {
	case slices.Contains(outside(), topFolder(path.Dir(name))):
		c.violation(name, 1, "folder %q must be a module of its own: it has no go.mod", path.Dir(name))
	case !known:
		c.violation(name, 1, "folder %q is not in the table of layers: add a row that says what it may import (layers in imports_test.go)", path.Dir(name))
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		line := positions.Position(spec.Pos()).Line
		if known {
			c.checkLayer(name, line, from, imported)
		}
		if inModule(imported, forbiddenModule) {
			c.violation(name, line, "imports %s; the module does without %s", imported, forbiddenModule)
		}
		if want, ok := requiredNames()[imported]; ok && !ast.IsGenerated(file) && (spec.Name == nil || spec.Name.Name != want) {
			c.violation(name, line, "imports %s under another name than %s", imported, want)
		}
	}
	return nil
}

// checkLayer checks an import of another folder of the same module.
func (c *checker) checkLayer(name string, line int, from layer, imported string) {
	if !inModule(imported, c.path) {
		return
	}
	folder := strings.TrimPrefix(strings.TrimPrefix(imported, c.path), "/")
	to, known := c.layerOf(cmp.Or(folder, "."))
	switch {
	case !known:
		c.violation(name, line, "imports %s, which is not in the table of layers: add a row for it (layers in imports_test.go)", imported)
	case isTest(name) && slices.Contains(forTests(), to.folder):
	case to.folder != from.folder && !slices.Contains(from.may, to.folder):
		c.violation(name, line, "%s may not import %s, only %v", from.folder, to.folder, from.may)
	}
}

// layerOf returns the row of a folder, or of the closest one that it is in. Folders for modules of their own have none.
func (c *checker) layerOf(folder string) (found layer, known bool) {
	for _, row := range c.table {
		if row.folder == folder || row.folder != "." && strings.HasPrefix(folder, row.folder+"/") {
			if !known || len(row.folder) > len(found.folder) {
				found, known = row, true
			}
		}
	}
	return found, known
}

func topFolder(name string) string {
	top, _, _ := strings.Cut(name, "/")
	return top
}

// inModule reports whether an import path belongs to a module.
func inModule(imported, module string) bool {
	return imported == module || strings.HasPrefix(imported, module+"/")
}

// goMod is what the rules say something about in a go.mod file.
type goMod struct {
	path     string
	required []directive
	replaced []directive
}

// directive is one entry of a go.mod file.
type directive struct {
	line    int
	module  string
	version string // empty for replacements
}

// parseGoMod reads a go.mod file that the go command accepts.
func parseGoMod(text string) goMod {
	var mod goMod
	block := "" // the directive whose parentheses are open
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case block != "" && words[0] == ")":
			block = ""
			continue
		case block == "" && len(words) > 1 && words[1] == "(":
			block = words[0]
			continue
		}
		keyword, rest := block, words
		if block == "" {
			keyword, rest = words[0], words[1:]
		}
		switch keyword {
		case "module":
			mod.path = strings.Trim(rest[0], `"`)
		case "require":
			mod.required = append(mod.required, directive{i + 1, rest[0], rest[1]})
		case "replace":
			mod.replaced = append(mod.replaced, directive{line: i + 1, module: rest[0]})
		}
	}
	return mod
}

func (c *checker) checkGoMod(mod goMod) {
	for _, required := range mod.required {
		switch {
		case inModule(required.module, forbiddenModule):
			c.violation("go.mod", required.line, "requires %s; the module does without it", required.module)
		case strings.HasPrefix(required.module, "k8s.io/") && !slices.Contains(separatelyVersioned(), required.module) &&
			required.version != kubernetes:
			c.violation("go.mod", required.line, "requires %s %s; all libraries of Kubernetes are pinned at %s", required.module, required.version, kubernetes)
		}
	}
	for _, replaced := range mod.replaced {
		c.violation("go.mod", replaced.line, "replaces %s; whoever imports the module would have to replace it too", replaced.module)
	}
}

// TestKubernetesLibrariesArePinned checks that the libraries whose version counts are there at all; that they have the
// right version is a rule of the checker.
func TestKubernetesLibrariesArePinned(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	pinned := map[string]string{}
	for _, required := range parseGoMod(string(text)).required {
		pinned[required.module] = required.version
	}
	for _, library := range []string{"api", "apimachinery", "client-go", "component-base", "component-helpers", "kube-scheduler"} {
		if got := pinned["k8s.io/"+library]; got != kubernetes {
			t.Errorf("go.mod requires k8s.io/%s %q, want %s", library, got, kubernetes)
		}
	}
}
