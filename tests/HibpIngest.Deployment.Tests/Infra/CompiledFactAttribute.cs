namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>A test of what the compiler makes of infra; the project file says where it is left out.</summary>
internal sealed class CompiledFactAttribute : FactAttribute
{
    public CompiledFactAttribute() => Skip = BicepFiles.CanCompile ? null : "needs Bicep's compiler";
}
