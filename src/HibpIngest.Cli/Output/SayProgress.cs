namespace HibpIngest.Cli.Output;

/// <summary>Says what is reported, line by line, as it is reported.</summary>
internal sealed class SayProgress(Screen screen) : IProgress<string>
{
    public void Report(string value) => screen.Say(value);
}
