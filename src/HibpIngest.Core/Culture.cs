using System.Globalization;
using System.Runtime.CompilerServices;

namespace HibpIngest;

/// <summary>
/// There is one culture, the invariant one, on whatever machine: numbers and dates are read and written the
/// same everywhere. (InvariantGlobalization would say so too, but Microsoft.Data.SqlClient refuses to work
/// under it: it takes code pages from the cultures.)
/// </summary>
internal static class Culture
{
#pragma warning disable CA2255 // Every host and test that loads the pipeline is to have it, and none is to have to remember it.
    [ModuleInitializer]
#pragma warning restore CA2255
    internal static void Pin()
    {
        CultureInfo.DefaultThreadCurrentCulture = CultureInfo.InvariantCulture;
        CultureInfo.DefaultThreadCurrentUICulture = CultureInfo.InvariantCulture;
    }
}
