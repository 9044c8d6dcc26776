namespace HibpIngest.Testing;

/// <summary>Runs the test's hook before each call to the database or a table, with the call's 1-based number and name.</summary>
internal sealed class HookedPorts(Func<int, string, Task> before)
{
    private int _calls;

    public int Calls => Volatile.Read(ref _calls);

    public PipelineParts Wrap(PipelineParts context) => context with
    {
        Database = Wrap(context.Database),
        Tables = new HookedTables(context.Tables, Wrap, Wrap),
    };

    private T Wrap<T>(T port)
        where T : class
        => PortProxy<T>.Create(port, method => before(Interlocked.Increment(ref _calls), method));
}
