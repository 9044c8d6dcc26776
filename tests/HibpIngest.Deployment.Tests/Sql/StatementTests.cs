using HibpIngest.Deployment.Tests.Infra;
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace HibpIngest.Deployment.Tests.Sql;

/// <summary>Tests with Microsoft's parser that everything sent to SQL Server is T-SQL.</summary>
public sealed class StatementTests
{
    [Fact]
    public void Every_statement_that_the_provider_sends_parses()
    {
        var statements = SentStatements.Read();
        Assert.True(statements.Count > 1_000, $"{statements.Count} statements were found");
        Assert.Empty(statements.SelectMany(Errors));
    }

    [Fact]
    public void Every_script_parses()
    {
        var schema = Directory.GetFiles(Path.Combine(DocumentFiles.Root, "src", "HibpIngest.Storage.Sql", "SqlServer", "Schema"), "*.sql");
        Assert.True(schema.Length >= 9);
        Assert.Empty(schema.SelectMany(file => Errors(File.ReadAllText(file))));
        Assert.Empty(InfraFiles.List(".sql").SelectMany(file => Errors(DocumentFiles.Read(file))));
    }

    [Theory]
    [InlineData("SELECT 1 FORM dbo.loads")]
    [InlineData("UPDATE dbo.loads SET WHERE id = 1")]
    [InlineData("SELECT id FROM dbo.loads LIMIT 1")]
    public void Invalid_statement_does_not_parse(string statement) => Assert.NotEmpty(Errors(statement));

    /// <summary>With quoted identifiers, as on a connection.</summary>
    private static IEnumerable<string> Errors(string text)
    {
        new TSql160Parser(initialQuotedIdentifiers: true).Parse(new StringReader(text), out var errors);
        return errors.Select(error => $"line {error.Line}: {error.Message}\n{text}");
    }
}
