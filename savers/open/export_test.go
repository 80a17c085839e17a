package open

import (
	mysqldriver "github.com/go-sql-driver/mysql"
	goredis "github.com/redis/go-redis/v9"
)

// Driver returns what the driver of a saver gets for a URL.
func Driver(rawURL string) (any, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	for _, known := range schemes() {
		for _, name := range known.names {
			if name == s.u.Scheme {
				if err := s.misplaced(known.server); err != nil {
					return nil, err
				}
			}
		}
	}
	got := driver(s)
	return got, s.err
}

func driver(s *settings) any {
	switch s.u.Scheme {
	case "mysql":
		if config := mysqlConfig(s); config != nil {
			return *config
		}
		return mysqldriver.Config{}
	case "postgres", "postgresql":
		return postgresURL(s)
	case "file", "sqlite":
		return s.path()
	}
	client, err := redisClient(s)
	if err != nil {
		s.err = err
		return nil
	}
	defer client.Close()
	switch c := client.(type) {
	case *goredis.Client:
		return *c.Options()
	case *goredis.ClusterClient:
		return *c.Options()
	}
	return nil
}
