package ops

import (
	"bufio"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/evenflow/evenflow/lab"
)

// tool runs a program and returns what it prints.
func tool(t *testing.T, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// content is a file's text, "" if there is none.
func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// The package holds what it should, installs, leaves a changed configuration alone, and takes everything with it when purged.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deb := strings.TrimSpace(tool(t, "../scripts/deb", dir))
	info := tool(t, "dpkg-deb", "-f", deb)
	version := regexp.MustCompile(`(?m)^Version: ([0-9][A-Za-z0-9.+~]*)$`).FindStringSubmatch(info)
	if version == nil || !strings.Contains(info, "Package: evenflow\n") || strings.Contains(info, "Depends") {
		t.Fatalf("control:\n%s", info)
	}
	if name := filepath.Base(deb); !strings.HasPrefix(name, "evenflow_"+version[1]+"_") {
		t.Errorf("it is called %s, of version %s", name, version[1])
	}
	list := tool(t, "dpkg-deb", "-c", deb)
	for _, want := range []string{
		`-rwxr-xr-x root/root .* \./usr/bin/evenflow`, `-rwxr-xr-x root/root .* \./usr/bin/evenflow-attach-bridge`,
		`-rw-r--r-- root/root .* \./etc/evenflow.yaml`, `-rw-r--r-- root/root .* \./usr/lib/systemd/system/evenflow.service`,
		`-rw-r--r-- root/root .* \./usr/share/doc/evenflow/copyright`, `-rw-r--r-- root/root .* \./usr/share/doc/evenflow/limits.md`,
		`-rw-r--r-- root/root .* \./usr/share/man/man1/evenflow.1.gz`,
	} {
		if !regexp.MustCompile("(?m)^" + want + "$").MatchString(list) {
			t.Errorf("no %s in\n%s", want, list)
		}
	}

	root := filepath.Join(dir, "root")
	for _, d := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available"} {
		if err := os.WriteFile(filepath.Join(root, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) {
		t.Helper()
		tool(t, append([]string{"dpkg", "--root=" + root, "--force-script-chrootless", "--force-confdef", "--force-confold", "--log=/dev/null"}, args...)...)
	}
	dpkg("--install", deb)
	installed := filepath.Join(root, "usr/bin/evenflow")
	if got := tool(t, installed, "version"); !strings.HasPrefix(got, "evenflow "+version[1]+", go1.") {
		t.Errorf("installed is %s", got)
	}
	elf, err := elf.Open(installed)
	if err != nil {
		t.Fatal(err)
	}
	defer elf.Close()
	if libraries, err := elf.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it needs %v, on which the package does not depend: %v", libraries, err)
	}
	config := filepath.Join(root, "etc/evenflow.yaml")
	if err := os.WriteFile(config, []byte("data: /elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg("--install", deb)
	if got := content(t, config); got != "data: /elsewhere\n" {
		t.Errorf("an upgrade has replaced the configuration by\n%s", got)
	}
	data := filepath.Join(root, "var/lib/evenflow/evenflow.db")
	if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dpkg("--remove", "evenflow")
	if content(t, data) == "" || content(t, config) == "" || content(t, installed) != "" {
		t.Error("removed: want the program gone, configuration and store kept")
	}
	dpkg("--purge", "evenflow")
	if content(t, data) != "" || content(t, config) != "" {
		t.Error("purged: want configuration and store gone")
	}
}

// install runs `make install` below root.
func install(t *testing.T, root string) {
	t.Helper()
	tool(t, "env", "DESTDIR="+root, "PREFIX=/opt/evenflow", "PROGRAM="+program, "make", "--no-print-directory", "-C", "..", "install")
}

// What `make install` leaves is a program that runs with the configuration beside it, and a unit that systemd takes.
func TestInstall(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	config := filepath.Join(root, "etc/evenflow.yaml")
	install(t, root)
	sample := content(t, config)
	if sample != content(t, "../packaging/evenflow.yaml") {
		t.Error("the configuration is another")
	}
	if err := os.WriteFile(config, []byte("data: /elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	install(t, root)
	if got := content(t, config); got != "data: /elsewhere\n" {
		t.Errorf("installing again has replaced the configuration by\n%s", got)
	}
	tool(t, filepath.Join(root, "opt/evenflow/bin/evenflow-attach-bridge"), "--help")
	tool(t, "bash", "-n", filepath.Join(root, "opt/evenflow/share/bash-completion/completions/evenflow"))
	unit := content(t, filepath.Join(root, "opt/evenflow/lib/systemd/system/evenflow.service"))
	if !strings.Contains(unit, "\nExecStart=/opt/evenflow/bin/evenflow serve --config /etc/evenflow.yaml\n") {
		t.Errorf("the unit:\n%s", unit)
	}
	checkUnit(t, "evenflow", strings.ReplaceAll(unit, "/opt/", root+"/opt/"), "[01]") // systemd looks for the program
	agent := content(t, filepath.Join(root, "opt/evenflow/lib/systemd/system/evenflow-agent.service"))
	checkUnit(t, "evenflow-agent", strings.ReplaceAll(agent, "/opt/", root+"/opt/"), "[0-2]")
	page, err := exec.Command("man", "--warnings", "-E", "UTF-8", "-l", filepath.Join(root, "opt/evenflow/share/man/man1/evenflow.1.gz")).CombinedOutput()
	if err != nil || !strings.Contains(string(page), "evenflow - layer-4 load balancing") || !strings.Contains(string(page), "evenflow backend drain") ||
		strings.Contains(string(page), "warning") {
		t.Errorf("the manual page: %v\n%s", err, page)
	}
}

// checkUnit fails unless systemd finds nothing wrong with the unit, and finds it confined: exposed by so much, of 10.
func checkUnit(t *testing.T, name, text, exposure string) {
	t.Helper()
	unit := filepath.Join(t.TempDir(), name+".service")
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := tool(t, "systemd-analyze", "verify", "--man=no", unit); strings.Contains(out, name+".service") {
		t.Errorf("verify: %s", out)
	}
	out := tool(t, "systemd-analyze", "security", "--offline=true", "--no-pager", unit)
	if !regexp.MustCompile(`Overall exposure level for ` + name + `.service: ` + exposure + `\.[0-9]`).MatchString(out) {
		t.Errorf("security: %s", out)
	}
}

// The sample works as it is, and with all that it shows.
func TestSampleConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sample := content(t, "../packaging/evenflow.yaml")
	whole := regexp.MustCompile(`(?m)^#([^ ]|  )`).ReplaceAllString(sample, "$1")
	authority := lab.NewAuthority(t, "sample")
	cert, key := authority.Issue("sample")
	whole = strings.NewReplacer("/etc/evenflow.token", dir+"/token", "/etc/evenflow/cert.pem", cert, "/etc/evenflow/key.pem", key,
		"/etc/evenflow/ca.pem", authority.CA, "/etc/evenflow/api-cert.pem", cert, "/etc/evenflow/api-key.pem", key).Replace(whole)
	if err := os.WriteFile(dir+"/token", []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if strings.Count(whole, "\n#") >= strings.Count(sample, "\n#") {
		t.Fatalf("nothing was uncommented:\n%s", whole)
	}
	for name, text := range map[string]string{"as it is": sample, "whole": whole} {
		config := filepath.Join(dir, "evenflow.yaml")
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "serve", "--config", config, "--data", filepath.Join(dir, name), "--http", "127.0.0.1:0", "--openflow", "127.0.0.1:0")
		pipe, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		listens := false
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "HTTP server listens") {
				listens = true
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err != nil || !listens {
			t.Errorf("%s: %v\n%s", name, err, log.String())
		}
	}
}
