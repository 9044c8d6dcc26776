using System.Runtime.CompilerServices;

namespace HibpIngest;

/// <summary>
/// Sets the invariant culture everywhere, so that numbers and dates are read and written the same on every machine. InvariantGlobalization
/// would do so too, but Microsoft.Data.SqlClient refuses to run under it, because it takes code pages from the cultures.
/// </summary>
internal static class Culture
{
#pragma warning disable CA2255 // Every host and test that loads the pipeline needs it, without having to call it.
    [ModuleInitializer]
#pragma warning restore CA2255
    internal static void Pin()
    {
        CultureInfo.DefaultThreadCurrentCulture = CultureInfo.InvariantCulture;
        CultureInfo.DefaultThreadCurrentUICulture = CultureInfo.InvariantCulture;
    }
}
