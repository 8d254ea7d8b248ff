package tool

import "strings"

// reserved holds the names of this library's own tools. A Def of the same name
// would make a provider refuse the tool list, or hide one of the two.
var reserved = map[string]bool{
	"job_submit": true, "job_status": true, "job_wait": true, "job_cancel": true, "job_list": true, "job_watch": true,

	"pilot_search": true, "pilot_help": true, "pilot_query": true, "pilot_summary": true,
	"pilot_send": true, "pilot_send_file": true, "pilot_inbox": true, "pilot_received": true,
	"pilot_trust_check": true, "pilot_handshake": true, "pilot_approve": true, "pilot_reject": true,
	"pilot_untrust": true, "pilot_pending": true, "pilot_find": true, "pilot_lookup": true,
	"pilot_peers": true, "pilot_ping": true, "pilot_broadcast": true, "pilot_publish": true,
	"pilot_subscribe": true,
}

func isReserved(name string) bool { return reserved[strings.ToLower(name)] }
