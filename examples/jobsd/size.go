package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// size is a flag of a number of bytes.
type size int64

var sizeForm = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?$`)

// Set reads 1048576, 512k, 1.5MiB, 2g and the like. All units are powers of 1024.
func (s *size) Set(text string) error {
	found := sizeForm.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if found == nil || found[2] == "" && strings.HasPrefix(found[3], "i") {
		return errors.New("a size is a number of bytes such as 1048576, 512k, 16MiB or 2g")
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return err
	}
	n *= float64(int64(1) << (10 * (strings.Index("kmgt", found[2]) + 1) * min(len(found[2]), 1)))
	if n >= math.MaxInt64 {
		return errors.New("the size is too large")
	}
	*s = size(n)
	return nil
}

// String writes it as Set reads it.
func (s *size) String() string {
	n := *s
	for _, unit := range []string{"", "KiB", "MiB", "GiB"} {
		if n%1024 != 0 || n == 0 {
			return fmt.Sprintf("%d%s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%dTiB", n)
}
