package gen

import (
	"go/types"
	"strconv"

	"github.com/dave/jennifer/jen"
)

// typeCode writes t as in the source of package path.
func typeCode(path string, t types.Type) *jen.Statement {
	switch t := t.(type) {
	case *types.Alias:
		if name := t.Obj(); name.Pkg() == nil || name.Pkg().Path() == path || name.Exported() && mayImport(path, name.Pkg().Path()) {
			return typeName(path, name, t.TypeArgs())
		}
		return typeCode(path, types.Unalias(t))
	case *types.Named:
		return typeName(path, t.Obj(), t.TypeArgs())
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			return jen.Qual("unsafe", "Pointer")
		}
		return jen.Id(t.Name())
	case *types.Pointer:
		return jen.Op("*").Add(typeCode(path, t.Elem()))
	case *types.Slice:
		return jen.Index().Add(typeCode(path, t.Elem()))
	case *types.Array:
		return jen.Index(jen.Lit(int(t.Len()))).Add(typeCode(path, t.Elem()))
	case *types.Map:
		return jen.Map(typeCode(path, t.Key())).Add(typeCode(path, t.Elem()))
	case *types.Chan:
		return chanCode(path, t)
	case *types.Signature:
		return jen.Func().Add(signatureCode(path, t))
	case *types.Struct:
		return jen.Struct(fieldsCode(path, t)...)
	case *types.Interface:
		return interfaceCode(path, t)
	}
	return jen.Id(t.String())
}

// typeName returns the name of a type as code of the package path, with its type arguments.
func typeName(path string, obj *types.TypeName, args *types.TypeList) *jen.Statement {
	code := jen.Id(obj.Name())
	if obj.Pkg() != nil && obj.Pkg().Path() != path {
		code = jen.Qual(obj.Pkg().Path(), obj.Name())
	}
	if args.Len() == 0 {
		return code
	}
	var list []jen.Code
	for i := range args.Len() {
		list = append(list, typeCode(path, args.At(i)))
	}
	return code.Types(list...)
}

// chanCode returns a channel type as code of the package path.
func chanCode(path string, t *types.Chan) *jen.Statement {
	switch t.Dir() {
	case types.SendOnly:
		return jen.Chan().Op("<-").Parens(typeCode(path, t.Elem()))
	case types.RecvOnly:
		return jen.Op("<-").Chan().Parens(typeCode(path, t.Elem()))
	}
	return jen.Chan().Parens(typeCode(path, t.Elem()))
}

// signatureCode writes parameters and results.
func signatureCode(path string, t *types.Signature) *jen.Statement {
	var params, results []jen.Code
	for i := range t.Params().Len() {
		p := t.Params().At(i).Type()
		if t.Variadic() && i == t.Params().Len()-1 {
			params = append(params, jen.Op("...").Add(typeCode(path, p.(*types.Slice).Elem())))
			continue
		}
		params = append(params, typeCode(path, p))
	}
	for i := range t.Results().Len() {
		results = append(results, typeCode(path, t.Results().At(i).Type()))
	}
	code := jen.Params(params...)
	if len(results) > 0 {
		code.Params(results...)
	}
	return code
}

// fieldsCode writes the fields of a struct with their tags, which are part of its type.
func fieldsCode(path string, t *types.Struct) []jen.Code {
	var list []jen.Code
	for i := range t.NumFields() {
		f := t.Field(i)
		code := typeCode(path, f.Type())
		if !f.Embedded() {
			code = jen.Id(f.Name()).Add(code)
		}
		list = append(list, code.Add(tagCode(t.Tag(i))))
	}
	return list
}

// tagCode returns the tag of a struct field as code.
func tagCode(tag string) *jen.Statement {
	switch {
	case tag == "":
		return jen.Null()
	case strconv.CanBackquote(tag):
		return jen.Id("`" + tag + "`")
	}
	return jen.Lit(tag)
}

// interfaceCode returns an interface type as code of the package path.
func interfaceCode(path string, t *types.Interface) *jen.Statement {
	if t.Empty() && !t.IsComparable() {
		return jen.Id("any")
	}
	var list []jen.Code
	for i := range t.NumEmbeddeds() {
		list = append(list, typeCode(path, t.EmbeddedType(i)))
	}
	for i := range t.NumExplicitMethods() {
		m := t.ExplicitMethod(i)
		list = append(list, jen.Id(m.Name()).Add(signatureCode(path, m.Signature())))
	}
	return jen.Interface(list...)
}

// packagesIn visits the packages in the written form of t.
func packagesIn(path string, t types.Type, visit func(*types.Package)) {
	switch t := t.(type) {
	case *types.Alias:
		if name := t.Obj(); name.Pkg() == nil || name.Pkg().Path() == path || name.Exported() && mayImport(path, name.Pkg().Path()) {
			packagesOfName(path, name, t.TypeArgs(), visit)
			return
		}
		packagesIn(path, types.Unalias(t), visit)
	case *types.Named:
		packagesOfName(path, t.Obj(), t.TypeArgs(), visit)
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			visit(types.Unsafe)
		}
	case interface{ Elem() types.Type }:
		if m, ok := t.(*types.Map); ok {
			packagesIn(path, m.Key(), visit)
		}
		packagesIn(path, t.Elem(), visit)
	case *types.Signature:
		for i := range t.Params().Len() {
			packagesIn(path, t.Params().At(i).Type(), visit)
		}
		for i := range t.Results().Len() {
			packagesIn(path, t.Results().At(i).Type(), visit)
		}
	case *types.Struct:
		for i := range t.NumFields() {
			packagesIn(path, t.Field(i).Type(), visit)
		}
	case *types.Interface:
		for i := range t.NumEmbeddeds() {
			packagesIn(path, t.EmbeddedType(i), visit)
		}
		for i := range t.NumExplicitMethods() {
			packagesIn(path, t.ExplicitMethod(i).Type(), visit)
		}
	}
}

// packagesOfName calls visit with the packages that the code of a named type imports.
func packagesOfName(path string, obj *types.TypeName, args *types.TypeList, visit func(*types.Package)) {
	if obj.Pkg() != nil && obj.Pkg().Path() != path {
		visit(obj.Pkg())
	}
	for i := range args.Len() {
		packagesIn(path, args.At(i), visit)
	}
}
