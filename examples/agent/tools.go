package main

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
	"github.com/fantasytools/fantasytools/tool"
)

// programTools makes tools of the programs.
func programTools(entries []toolfile.Entry, workDir string, logger *zap.Logger) (toolset, error) {
	tools, err := tool.LoadTools(toolfile.Defs(entries), workDir, logger)
	return toolset{label: "tools", summary: names(tools), tools: tools}, err
}

// newLogger logs warnings, and all that the tools do if that is wanted.
func newLogger(w io.Writer, verbose bool) *zap.Logger {
	level := zap.WarnLevel
	if verbose {
		level = zap.DebugLevel
	}
	encoder := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level))
}
