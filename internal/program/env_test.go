package program

import "testing"

func TestLooksSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "OTTERS_AGENT_TOKEN": true, "AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true,
		"github_token": true, "DB_PASSWORD": true, "KEY": true, "Google_Application_Credentials": true, "MYSQL_PASSWD": true,
		"MONKEY": false, "KEYBOARD": false, "TOKENIZERS_PARALLELISM": false, "PATH": false, "HOME": false, "SECRETARY": false, "": false,
	} {
		if got := looksSecret(name); got != want {
			t.Errorf("looksSecret(%q) = %v", name, got)
		}
	}
}
