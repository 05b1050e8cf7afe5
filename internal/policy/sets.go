package policy

import "path/filepath"

// The named sets of paths.
const (
	setSystem = "@system"
	setTmp    = "@tmp"
	setVCS    = "@vcs"
	setAgent  = "@agent"
)

// systemPaths are the program and library directories of a system, with the few files
// beside them without which programs do not start or find no names. What is missing on
// a machine is left out.
func systemPaths(goos string) []string {
	switch goos {
	case "darwin":
		return []string{
			"/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Frameworks", "/Library/Developer",
			"/opt/homebrew", "/opt/local", "/private/etc/ssl", "/private/etc/hosts", "/private/etc/resolv.conf",
			"/private/etc/services", "/private/etc/protocols", "/private/etc/localtime", "/private/var/db/timezone",
		}
	case "windows":
		return []string{`C:\Windows`, `C:\Program Files`, `C:\Program Files (x86)`}
	}
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld-musl-x86_64.path",
		"/etc/ssl", "/etc/ca-certificates", "/etc/pki/tls", "/etc/pki/ca-trust", "/etc/crypto-policies",
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf",
		"/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone",
		"/etc/os-release", "/etc/mime.types", "/etc/magic", "/etc/terminfo", "/etc/inputrc",
	}
}

// secretPaths lists what is denied unless a policy names the exact path in "read".
func secretPaths(goos, home string) []string {
	var paths []string
	if home != "" {
		for _, name := range homeSecrets(goos) {
			paths = append(paths, filepath.Join(home, filepath.FromSlash(name)))
		}
	}
	if goos == "windows" {
		return paths
	}
	return append(paths,
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
		"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_dsa_key",
		"/etc/master.passwd", "/var/run/docker.sock", "/run/docker.sock", "/run/containerd", "/run/podman", "/run/crio", "/run/buildkit",
	)
}

// secretGlobs are the secrets that only a pattern finds.
func secretGlobs(goos string) []string {
	if goos == "windows" {
		return nil
	}
	return []string{
		"/etc/sudoers*", "/etc/ssh/ssh_host_*_key",
		"/run/user/*/docker.sock", "/run/user/*/podman", "/run/user/*/keyring", "/run/user/*/gnupg",
	}
}

func homeSecrets(goos string) []string {
	names := []string{
		".ssh", ".gnupg", ".aws", ".config/gcloud", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc",
		".config/gh", ".git-credentials", ".config/git/credentials", ".password-store",
		".bash_history", ".zsh_history", ".sh_history", ".ash_history", ".history", ".local/share/fish/fish_history",
		".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history",
	}
	switch goos {
	case "darwin":
		return append(names,
			"Library/Keychains", "Library/Cookies", "Library/Safari", "Library/Application Support/Firefox",
			"Library/Application Support/Google/Chrome", "Library/Application Support/Chromium",
			"Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge",
			"Library/Application Support/Vivaldi", ".docker/run/docker.sock", ".colima", ".orbstack/run")
	case "windows":
		return append(names,
			"_netrc", "AppData/Roaming/gcloud", "AppData/Roaming/GitHub CLI", "AppData/Roaming/Mozilla/Firefox",
			"AppData/Local/Google/Chrome/User Data", "AppData/Local/Chromium/User Data", "AppData/Local/Microsoft/Edge/User Data",
			"AppData/Local/BraveSoftware", "AppData/Local/Vivaldi", "AppData/Local/Microsoft/Credentials",
			"AppData/Roaming/Microsoft/Credentials", "AppData/Roaming/Microsoft/Protect", "AppData/Roaming/Microsoft/Vault",
			"AppData/Roaming/Microsoft/Windows/PowerShell/PSReadLine")
	}
	return append(names,
		".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
		".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", ".var/app/org.mozilla.firefox",
		".var/app/com.google.Chrome", ".local/share/keyrings", ".local/share/kwalletd", ".gnome2/keyrings", ".pki")
}

// VCSPaths lists what @vcs protects below root. gitDirs are where a ".git" file in root
// leads to.
func VCSPaths(root string, gitDirs []string) []string {
	paths := []string{filepath.Join(root, ".gitmodules")}
	if len(gitDirs) > 0 {
		paths = append(paths, filepath.Join(root, ".git"))
	} else {
		gitDirs = []string{filepath.Join(root, ".git")}
	}
	for _, dir := range gitDirs {
		for _, name := range []string{"hooks", "config", "config.worktree", "commondir", filepath.Join("info", "attributes")} {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// agentPaths lists what @agent protects below root: files that make the programs of a
// developer run something.
func agentPaths(root string) []string {
	return below(root, ".mcp.json", ".vscode", ".idea", ".envrc")
}

// startupPaths lists the files by which a shell starts.
func startupPaths(home string) []string {
	if home == "" {
		return nil
	}
	return below(home,
		".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout",
		".inputrc", ".config/fish", ".config/powershell", ".config/nushell", ".config/environment.d", ".pam_environment")
}

func below(dir string, names ...string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return paths
}
