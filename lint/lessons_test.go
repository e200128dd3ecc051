package lint

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/lessons.md names, as folder.TestName, is there; and each of its reports names one.
func TestLessonsNameTests(t *testing.T) {
	text, err := os.ReadFile("../docs/lessons.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9/]+)\\.(Test\\w+)`")
	rows := 0
	for line := range strings.Lines(string(text)) {
		tests := named.FindAllStringSubmatch(line, -1)
		if strings.HasPrefix(line, "| ") && strings.Contains(line, "#") {
			if rows++; len(tests) == 0 {
				t.Errorf("no test is named: %s", line)
			}
		}
		for _, m := range tests {
			if !hasTest(t, path.Join("..", m[1]), m[2]) {
				t.Errorf("%s has no %s, which a lesson names", m[1], m[2])
			}
		}
	}
	if rows < 40 {
		t.Errorf("%d lessons", rows)
	}
}

// hasTest reports whether a folder's tests have a function.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}
