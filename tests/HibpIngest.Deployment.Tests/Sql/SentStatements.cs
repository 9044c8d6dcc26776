using System.Xml.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Operations;

namespace HibpIngest.Deployment.Tests.Sql;

/// <summary>
/// Finds the texts that the SQL Server provider can send, from its source: from each assignment to a CommandText back
/// through the methods that pass the text on, over every branch. Values known only at run time (an id, the name of a
/// table in a loop) become the identifier <c>x</c>.
/// </summary>
internal sealed class SentStatements
{
    private const string Unknown = "x";

    /// <summary>The usings that the SDK and the project's files import.</summary>
    private static string Usings => string.Concat(
        new[] { "Directory.Build.props", "src/Directory.Build.props", "src/HibpIngest.Storage.Sql/HibpIngest.Storage.Sql.csproj" }
            .SelectMany(file => XDocument.Load(Path.Combine(DocumentFiles.Root, file)).Descendants("Using"))
            .Select(one => (one.Attribute("Static") is null ? "" : "static ") + (string)one.Attribute("Include")!)
            .Concat(["System", "System.Collections.Generic", "System.IO", "System.Linq", "System.Threading", "System.Threading.Tasks"])
            .Select(name => $"global using {name}; "));

    private readonly CSharpCompilation _compilation;
    private readonly Dictionary<SyntaxTree, SemanticModel> _models;
    private readonly ILookup<ISymbol, IReadOnlyList<IArgumentOperation>> _calls;
    private readonly ILookup<ISymbol, AssignmentExpressionSyntax> _assigned;
    private readonly HashSet<ISymbol> _evaluating = new(SymbolEqualityComparer.Default);
    private readonly Dictionary<ISymbol, IReadOnlyList<string>> _bound = new(SymbolEqualityComparer.Default);

    private SentStatements(CSharpCompilation compilation)
    {
        _compilation = compilation;
        _models = compilation.SyntaxTrees.ToDictionary(tree => tree, tree => compilation.GetSemanticModel(tree));
        var nodes = compilation.SyntaxTrees.SelectMany(tree => tree.GetRoot().DescendantNodes()).ToList();
        _calls = nodes.Where(node => node is InvocationExpressionSyntax or ConstructorInitializerSyntax)
            .Select(node => Model(node).GetOperation(node)).OfType<IInvocationOperation>()
            .ToLookup(
                call => (ISymbol)call.TargetMethod.OriginalDefinition, call => (IReadOnlyList<IArgumentOperation>)call.Arguments,
                SymbolEqualityComparer.Default);
        _assigned = nodes.OfType<AssignmentExpressionSyntax>().Where(one => Symbol(one.Left) is not null)
            .ToLookup(one => Symbol(one.Left)!, SymbolEqualityComparer.Default);
    }

    /// <summary>Returns all texts, without repeats.</summary>
    public static IReadOnlyList<string> Read()
    {
        var folder = Path.Combine(DocumentFiles.Root, "src", "HibpIngest.Storage.Sql");
        var files = Directory.EnumerateFiles(folder, "*.cs", SearchOption.AllDirectories)
            .Where(file => Path.GetRelativePath(folder, file).Split(Path.DirectorySeparatorChar)[0] is not ("Sqlite" or "obj" or "bin"));
        var options = new CSharpParseOptions(LanguageVersion.Preview);
        var references = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator)
            .Where(file => Path.GetFileName(file) != "HibpIngest.Storage.Sql.dll").Select(file => MetadataReference.CreateFromFile(file));
        var statements = new SentStatements(CSharpCompilation.Create(
            "HibpIngest.Storage.Sql",
            [.. files.Select(File.ReadAllText).Append(Usings).Select(text => CSharpSyntaxTree.ParseText(text, options))],
            references, new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary)));
        return
        [
            .. statements._assigned.Where(one => one.Key.Name == "CommandText").SelectMany(one => one)
                .SelectMany(one => statements.Values(one.Right))
                // A schema script's text is unknown here: it is a file.
                .Where(text => !text.EndsWith($"; {Unknown}", StringComparison.Ordinal)).Distinct(),
        ];
    }

    private IEnumerable<string> Values(ExpressionSyntax expression)
    {
        if (Model(expression).GetConstantValue(expression) is { HasValue: true, Value: { } constant })
            return [$"{constant}"];
        return expression switch
        {
            InterpolatedStringExpressionSyntax text => text.Contents.Aggregate(
                (IEnumerable<string>)[""], (values, part) => Joined(values, part switch
                {
                    InterpolatedStringTextSyntax written => [written.TextToken.ValueText],
                    InterpolationSyntax hole => Values(hole.Expression),
                    _ => throw new InvalidOperationException($"'{part}' is not understood"),
                })),
            BinaryExpressionSyntax { RawKind: (int)SyntaxKind.AddExpression } sum => Joined(Values(sum.Left), Values(sum.Right)),
            ConditionalExpressionSyntax choice => Values(choice.WhenTrue).Concat(Values(choice.WhenFalse)),
            ParenthesizedExpressionSyntax inner => Values(inner.Expression),
            // A text and its parameters.
            TupleExpressionSyntax both => Values(both.Arguments[0].Expression),
            InvocationExpressionSyntax call => OfCall(call),
            IdentifierNameSyntax or MemberAccessExpressionSyntax => OfSymbol(Symbol(expression)),
            _ => [Unknown],
        };
    }

    private IEnumerable<string> OfCall(InvocationExpressionSyntax call)
    {
        if (Symbol(call) is not IMethodSymbol method)
            throw new InvalidOperationException($"'{call}' calls nothing that is known");
        var arguments = call.ArgumentList.Arguments;
        switch (method.ContainingType.ToDisplayString(), method.Name)
        {
            case ("string", "Join"):
                return Values(arguments[1].Expression);
            case ("string", "Replace") when call.Expression is MemberAccessExpressionSyntax text:
                return
                    from value in Values(text.Expression)
                    from old in Values(arguments[0].Expression)
                    from replacement in Values(arguments[1].Expression)
                    select value.Replace(old, replacement, StringComparison.Ordinal);
            case ("System.Linq.Enumerable", "Select") when arguments[0].Expression is LambdaExpressionSyntax { ExpressionBody: { } body }:
                return Values(body);
        }
        return Model(call).GetOperation(call) is IInvocationOperation invocation ? OfMethod(invocation) : [Unknown];
    }

    /// <summary>Returns the possible results of a provider's method for these arguments.</summary>
    private List<string> OfMethod(IInvocationOperation call)
    {
        var called = (IMethodSymbol)Resolve(call.TargetMethod);
        var given = call.Arguments.Select(one => (
            Parameter: called.Parameters[one.Parameter!.Ordinal],
            Values: one.Value.ConstantValue is { HasValue: true, Value: { } constant } ? [$"{constant}"]
                : one.Value.Syntax is ExpressionSyntax written ? Values(written).ToList() : (IReadOnlyList<string>)[Unknown])).ToList();
        foreach (var (parameter, values) in given)
            _bound[parameter] = values;
        var returned = OfSymbol(called).ToList();
        foreach (var (parameter, _) in given)
            _bound.Remove(parameter);
        return returned;
    }

    private IEnumerable<string> OfSymbol(ISymbol? symbol)
    {
        if (symbol is { Name: "Name", ContainingType.Name: "Parameter" })
            return [$"@{Unknown}"];
        if (symbol is null || Resolve(symbol) is not { DeclaringSyntaxReferences.IsEmpty: false } called)
            return [Unknown];
        symbol = called;
        if (_bound.TryGetValue(symbol, out var bound))
            return bound;
        if (!_evaluating.Add(symbol))
            return [];
        try
        {
            var declared = symbol.DeclaringSyntaxReferences.Select(reference => reference.GetSyntax()).SelectMany(Written);
            var passed = symbol is IParameterSymbol parameter ? Passed(parameter) : [];
            var assigned = _assigned[symbol].ToLookup(one => one.IsKind(SyntaxKind.AddAssignmentExpression), one => one.Right);
            var values = declared.Concat(assigned[false]).Concat(passed).SelectMany(Values).Distinct().ToList();
            // A += may be skipped: the values with and without it are kept.
            foreach (var addition in assigned[true])
                values.AddRange(Joined(values, Values(addition)).ToList());
            return values.Count > 0 ? values : [Unknown];
        }
        finally
        {
            _evaluating.Remove(symbol);
        }
    }

    /// <summary>Returns the expressions from which a declaration gets its value.</summary>
    private static IEnumerable<ExpressionSyntax> Written(SyntaxNode declaration) => declaration switch
    {
        VariableDeclaratorSyntax { Initializer.Value: { } value } => [value],
        SingleVariableDesignationSyntax { Parent: ParenthesizedVariableDesignationSyntax both } first when both.Variables[0] == first =>
            both.Ancestors().OfType<AssignmentExpressionSyntax>().Take(1).Select(one => one.Right),
        PropertyDeclarationSyntax { ExpressionBody.Expression: { } value } => [value],
        MethodDeclarationSyntax { ExpressionBody.Expression: { } value } => [value],
        MethodDeclarationSyntax { Body: { } body } => body.DescendantNodes().OfType<ReturnStatementSyntax>().Select(one => one.Expression!),
        _ => [],
    };

    /// <summary>Returns the arguments for a parameter at every call, also through an interface or a base class.</summary>
    private IEnumerable<ExpressionSyntax> Passed(IParameterSymbol parameter)
    {
        var method = (IMethodSymbol)parameter.ContainingSymbol;
        var names = method.ContainingType.AllInterfaces.SelectMany(one => one.GetMembers())
            .Where(one => SymbolEqualityComparer.Default.Equals(method.ContainingType.FindImplementationForInterfaceMember(one), method))
            .Append(method);
        if (method.OverriddenMethod is { } overridden)
            names = names.Append(overridden);
        return names.SelectMany(name => _calls[name.OriginalDefinition])
            .SelectMany(arguments => arguments.Where(one => one.Parameter!.Ordinal == parameter.Ordinal))
            .Select(argument => argument.Value.Syntax).OfType<ExpressionSyntax>();
    }

    /// <summary>Returns the definition that a call reaches: of an abstract member SQL Server's, the only one in the compilation.</summary>
    private ISymbol Resolve(ISymbol symbol) => !symbol.IsAbstract ? symbol.OriginalDefinition
        : _compilation.GetSymbolsWithName(symbol.Name).FirstOrDefault(
            one => one.IsOverride && SymbolEqualityComparer.Default.Equals(
                (one as IMethodSymbol)?.OverriddenMethod ?? (ISymbol?)(one as IPropertySymbol)?.OverriddenProperty,
                symbol.OriginalDefinition)) ?? symbol;

    private static IEnumerable<string> Joined(IEnumerable<string> first, IEnumerable<string> second) =>
        from one in first.ToList() from other in second.ToList() select one + other;

    private SemanticModel Model(SyntaxNode node) => _models[node.SyntaxTree];

    private ISymbol? Symbol(SyntaxNode node) => Model(node).GetSymbolInfo(node).Symbol;
}
