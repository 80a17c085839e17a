package gen

func emit(m *model) ([]byte, error) { return nil, nil }
