using HibpIngest.Hosting;
using HibpIngest.Pipeline;

namespace HibpIngest.Testing;

/// <summary>
/// Does what a test says before each call that a process makes on the database or a table: told its number (1
/// and up) and its name.
/// </summary>
internal sealed class HookedPorts(Func<int, string, Task> before)
{
    private int _calls;

    /// <summary>Calls made so far.</summary>
    public int Calls => Volatile.Read(ref _calls);

    public PipelineParts Wrap(PipelineParts context) => context with
    {
        Database = Wrap(context.Database),
        Tables = new HookedTables(context.Tables, Wrap, Wrap, Wrap),
    };

    private T Wrap<T>(T port)
        where T : class
        => PortProxy<T>.Create(port, method => before(Interlocked.Increment(ref _calls), method));
}
