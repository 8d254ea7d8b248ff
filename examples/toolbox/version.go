package main

import (
	"runtime"
	"runtime/debug"
)

// versions is what version prints with -json.
type versions struct {
	Toolbox  string `json:"toolbox"`  // of the module that this program is part of
	Revision string `json:"revision"` // of the source; "" if it is not known
	Fantasy  string `json:"fantasy"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version prints what this program is made of.
func (a *app) version() error {
	v := versions{Toolbox: "(devel)", Fantasy: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.read(info)
	}
	if a.opts.json {
		return a.printJSON(v)
	}
	revision := ""
	if v.Revision != "" {
		revision = " (" + v.Revision + ")"
	}
	return a.printf("toolbox %s%s, fantasy %s, %s %s\n", v.Toolbox, revision, v.Fantasy, v.Go, v.Platform)
}

func (v *versions) read(info *debug.BuildInfo) {
	if info.Main.Version != "" {
		v.Toolbox = info.Main.Version
	}
	for _, module := range info.Deps {
		if module.Path == "charm.land/fantasy" {
			v.Fantasy = module.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
}
