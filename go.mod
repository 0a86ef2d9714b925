module github.com/bailiff-bot/bailiff

go 1.26
