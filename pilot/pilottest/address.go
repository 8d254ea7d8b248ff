package pilottest

import (
	"fmt"
	"regexp"
	"strconv"
)

// FormatAddress writes the full address of a node on a network, for example
// 0:0000.0000.000B for node 11 on the backbone.
func FormatAddress(network uint16, node uint32) string {
	return fmt.Sprintf("%d:%04X.%04X.%04X", network, network, node>>16, node&0xffff)
}

var addressForm = regexp.MustCompile(`^(\d{1,5}):([0-9A-Fa-f]{4})\.([0-9A-Fa-f]{4})\.([0-9A-Fa-f]{4})$`)

// parseAddress is strict as pilotctl is: four hexadecimal digits a group, and
// the network's number must be the same in both of its forms.
func parseAddress(s string) (network uint16, node uint32, ok bool) {
	m := addressForm.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, false
	}
	dec, err := strconv.ParseUint(m[1], 10, 16)
	if err != nil {
		return 0, 0, false
	}
	hexNet, _ := strconv.ParseUint(m[2], 16, 16)
	if dec != hexNet {
		return 0, 0, false
	}
	id, _ := strconv.ParseUint(m[3]+m[4], 16, 32)
	return uint16(dec), uint32(id), true
}
