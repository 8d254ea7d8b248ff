module github.com/fantasytools/fantasytools

go 1.26.6
