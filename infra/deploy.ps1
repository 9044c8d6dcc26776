#!/usr/bin/env pwsh
#Requires -Version 7.0
<#
.SYNOPSIS
Deploys HibpIngest to Azure, from nothing but a subscription; may be run again at any time (new code, another size, a step that failed).
.DESCRIPTION
Read from the environment:
HIBP_MAIL (needed: smtp://user:password@host:port?tls=starttls; to try it out without mails: pickup:/tmp/mail, a folder that goes with the instance), HIBP_MAIL_FROM (sender of the mails), HIBP_SECRET_KEY (32 bytes
in base64, for encrypted archives and clients; several with commas between: the first seals; by default the deployed one), HIBP_SUPPRESSION_KEY (32 bytes in base64, for hibp subscribers
remove and forget; never changed; by default the deployed one, and another than that is refused), HIBP_SERVICE_NAME, HIBP_SERVICE_ADDRESS, HIBP_SERVICE_CONTACT, HIBP_SERVICE_LOGO (https) and HIBP_UNSUBSCRIBE_MAILTO (whose the mails
are, and how to get no more of them), HIBP_WEB_URL (where people reach the API, https://HOST; by default the web app's own address), DEPLOY_WEB (false: without the web app;
one that is there stays, to be deleted by hand), DEPLOY_SECOND_LOCATION (region of a second web app, and of an account that Pwned Passwords are copied to and that it reads first;
by default none, and those that are there stay, to be deleted by hand), DEPLOY_ALERT_EMAIL (where alerts go), DEPLOY_SQL_FREE_OFFER (true: the free monthly amount of Azure SQL; smallest, at the first
deployment), DEPLOY_SQL_ADMIN_ID, DEPLOY_SQL_ADMIN_NAME and DEPLOY_SQL_ADMIN_TYPE (who administers the database, as object id, name and User, Group or Application; by
default whoever is signed in; whoever runs this has to be it, or a member of it), DEPLOY_OPERATOR_ID, DEPLOY_OPERATOR_NAME and DEPLOY_OPERATOR_TYPE (who runs hibp, as
object id, name and User, Group or ServicePrincipal; by default whoever is signed in: gets roles on zips, queues and tables, and the app's role in the database; none where
the app's package is), DEPLOY_DROPPER_ID and DEPLOY_DROPPER_TYPE (who only drops breaches, as object id and User, Group or ServicePrincipal; by default nobody but the
operator: gets a role on the container breach alone), DEPLOY_PASSWORDS_DROPPER_ID and DEPLOY_PASSWORDS_DROPPER_TYPE (who only drops files of password hashes, likewise: gets a role on
the container passwords-import alone).
Needs: az (signed in, with the right to make resources and to assign roles: Owner of the group or subscription), dotnet 10, sqlcmd (go-sqlcmd).
.PARAMETER Group
Resource group; made when it is not there.
.PARAMETER Location
Where to make it (az functionapp list-flexconsumption-locations).
.PARAMETER Size
smallest or full-power: the .bicepparam file beside this script.
.PARAMETER Name
What names begin with: 3 to 11 lower-case letters and digits.
.PARAMETER Ip
This machine's public address, let through SQL's firewall while the schema is set up (default: asked of api.ipify.org; "none" where it is let through already, as in Cloud Shell).
.EXAMPLE
infra/deploy.ps1 -Group hibp -Location westeurope
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory)][string] $Group,
    [string] $Location = '',
    [ValidateSet('smallest', 'full-power')][string] $Size = 'smallest',
    [ValidatePattern('^[a-z0-9]{3,11}$')][string] $Name = 'hibp',
    [string] $Ip = ''
)

$ErrorActionPreference = 'Stop'

function Write-Step([string] $Message) {
    Write-Host ''
    Write-Host "== $Message"
}

function Stop-Script([string] $Message) {
    [Console]::Error.WriteLine("deploy: $Message")
    exit 1
}

# Runs a program and stops the script when it fails; what it printed is the answer.
function Invoke-Checked {
    $program, $rest = $args
    $answer = & $program @rest
    if ($LASTEXITCODE -ne 0) {
        Stop-Script "$program $($rest[0..2] -join ' ') failed (see above); run this again when it is mended"
    }
    return $answer
}

# Roles and firewall rules take a while to arrive everywhere, and a paused database a minute to wake.
function Invoke-Attempts([int] $Tries, [scriptblock] $Action) {
    while (-not (& $Action)) {
        $Tries--
        if ($Tries -le 0) {
            return $false
        }
        Write-Host "   not yet; trying again in 20 seconds ($Tries more times)"
        Start-Sleep -Seconds 20
    }
    return $true
}

if (-not $env:HIBP_MAIL) {
    Stop-Script 'HIBP_MAIL is not set (Get-Help says how)'
}
foreach ($tool in @(
        @('az', 'the Azure CLI (az) is missing: https://learn.microsoft.com/cli/azure/install-azure-cli'),
        @('dotnet', 'the .NET SDK 10 is missing: https://dotnet.microsoft.com/download'),
        @('sqlcmd', 'sqlcmd is missing: https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-download-install'))) {
    if (-not (Get-Command $tool[0] -ErrorAction SilentlyContinue)) {
        Stop-Script $tool[1]
    }
}
if (-not ((& sqlcmd --help 2>&1 | Out-String) -match '--authentication-method')) {
    Stop-Script 'this sqlcmd is the old one, without Entra sign-in by the Azure CLI: install go-sqlcmd (https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-download-install)'
}
$account = & az account show --query name -o tsv 2>$null
if ($LASTEXITCODE -ne 0) {
    Stop-Script 'nobody is signed in: az login, then az account set --subscription NAME'
}

$root = Split-Path -Parent $PSScriptRoot
$work = Join-Path ([IO.Path]::GetTempPath()) "hibp-deploy-$PID"
New-Item -ItemType Directory -Path $work | Out-Null
$rule = ''
$sqlServer = ''

try {
    Write-Step "Subscription ${account}: who runs this"
    if ((Invoke-Checked az account show --query user.type -o tsv) -eq 'user') {
        $runnerId = Invoke-Checked az ad signed-in-user show --query id -o tsv
        $runnerName = Invoke-Checked az ad signed-in-user show --query userPrincipalName -o tsv
        $runnerType = 'User'
        $adminType = 'User'
    }
    else {
        $runnerName = Invoke-Checked az account show --query user.name -o tsv
        $runnerId = Invoke-Checked az ad sp show --id $runnerName --query id -o tsv
        $runnerType = 'ServicePrincipal'
        $adminType = 'Application'
    }
    $env:DEPLOY_NAME = $Name
    if (-not $env:DEPLOY_OPERATOR_ID) {
        $env:DEPLOY_OPERATOR_ID = $runnerId
        $env:DEPLOY_OPERATOR_NAME = $runnerName
        $env:DEPLOY_OPERATOR_TYPE = $runnerType
    }
    if (-not $env:DEPLOY_OPERATOR_NAME) {
        Stop-Script 'DEPLOY_OPERATOR_ID is set and DEPLOY_OPERATOR_NAME is not'
    }
    if (-not $env:DEPLOY_OPERATOR_TYPE) {
        $env:DEPLOY_OPERATOR_TYPE = 'User'
    }
    if (-not $env:DEPLOY_SQL_ADMIN_ID) {
        $env:DEPLOY_SQL_ADMIN_ID = $runnerId
        $env:DEPLOY_SQL_ADMIN_NAME = $runnerName
        $env:DEPLOY_SQL_ADMIN_TYPE = $adminType
    }
    Write-Host "   $runnerName; the database is administered by $env:DEPLOY_SQL_ADMIN_NAME, hibp is run by $env:DEPLOY_OPERATOR_NAME"

    Write-Step 'Publishing for linux-x64'
    Invoke-Checked dotnet publish "$root/src/HibpIngest.Functions" -c Release -o "$work/app" --nologo -v quiet | Out-Host
    Invoke-Checked dotnet run "$PSScriptRoot/pack.cs" "$work/app" "$work/app.zip" ingest | Out-Host
    Invoke-Checked dotnet run "$PSScriptRoot/pack.cs" "$work/app" "$work/web.zip" web | Out-Host

    Write-Step "Resource group $Group"
    if ((Invoke-Checked az group exists -n $Group) -ne 'true') {
        if (-not $Location) {
            Stop-Script "resource group $Group is not there: say where to make it with -Location"
        }
        Invoke-Checked az group create -n $Group -l $Location -o none
    }
    else {
        # App settings are written whole: a key that is left out would be gone, and what was made under it with it.
        $deployedApp = Invoke-Checked az functionapp list -g $Group --query "[?starts_with(name, '$Name-app-')].name" -o tsv
        if ($deployedApp) {
            $kept = Invoke-Checked az functionapp config appsettings list -g $Group -n $deployedApp --query "[?name=='HIBP_SUPPRESSION_KEY'].value" -o tsv
            if ($kept -and $env:HIBP_SUPPRESSION_KEY -and $env:HIBP_SUPPRESSION_KEY -cne $kept) {
                Stop-Script "HIBP_SUPPRESSION_KEY is not the one that $deployedApp has, under which addresses are suppressed: leave it out, which keeps that one"
            }
            if (-not $env:HIBP_SUPPRESSION_KEY) {
                $env:HIBP_SUPPRESSION_KEY = $kept
            }
            $kept = Invoke-Checked az functionapp config appsettings list -g $Group -n $deployedApp --query "[?name=='HIBP_SECRET_KEY'].value" -o tsv
            if (-not $env:HIBP_SECRET_KEY) {
                $env:HIBP_SECRET_KEY = $kept
            }
        }
    }

    Write-Step "Resources ($Size); ten minutes the first time"
    Invoke-Checked az deployment group create -g $Group -n "$Name-main" -p "$PSScriptRoot/$Size.bicepparam" -o none
    $outputs = Invoke-Checked az deployment group show -g $Group -n "$Name-main" --query properties.outputs -o json | ConvertFrom-Json
    $storage = $outputs.storageAccountName.value
    $drop = $outputs.dropContainer.value
    $undelivered = $outputs.undeliveredContainer.value
    $topic = $outputs.eventTopicName.value
    $app = $outputs.appName.value
    $webApp = $outputs.webAppName.value
    $webUrl = $outputs.webUrl.value
    $secondWebApp = $outputs.secondWebAppName.value
    $secondWebUrl = $outputs.secondWebUrl.value
    $replica = $outputs.replicaAccountName.value
    $identity = $outputs.identityName.value
    $clientId = $outputs.identityClientId.value
    $sqlServer = $outputs.sqlServerName.value
    $sqlHost = $outputs.sqlServerHost.value
    $sqlDatabase = $outputs.sqlDatabaseName.value
    $sqlConnection = $outputs.sqlConnection.value

    Write-Step "Schema of $sqlDatabase on $sqlHost, and who may work in it"
    if ($Ip -ne 'none') {
        if (-not $Ip) {
            try {
                $Ip = Invoke-RestMethod -Uri 'https://api.ipify.org' -TimeoutSec 20
            }
            catch {
                Stop-Script "this machine's public address could not be found: give it with -Ip"
            }
        }
        $rule = "deploy-$PID"
        Invoke-Checked az sql server firewall-rule create -g $Group -s $sqlServer -n $rule --start-ip-address $Ip --end-ip-address $Ip -o none
    }
    $upgraded = Invoke-Attempts 6 {
        & dotnet run --project "$root/src/HibpIngest.Cli" -c Release '--' database upgrade --database $sqlConnection | Out-Host
        $LASTEXITCODE -eq 0
    }
    if (-not $upgraded) {
        Stop-Script "the schema could not be set up (see above). Are you $env:DEPLOY_SQL_ADMIN_NAME, or a member? Is $Ip the address SQL sees? Then run this again"
    }
    # As the script has them; whoever administers the database needs no role in it.
    $members = @(, @($identity, $clientId, 'E', 'the app'))
    if ($env:DEPLOY_OPERATOR_ID -ne $env:DEPLOY_SQL_ADMIN_ID) {
        $operatorSqlId = $env:DEPLOY_OPERATOR_ID
        $operatorKind = 'E'
        if ($env:DEPLOY_OPERATOR_TYPE -eq 'Group') {
            $operatorKind = 'X'
        }
        if ($env:DEPLOY_OPERATOR_TYPE -eq 'ServicePrincipal') {
            $operatorSqlId = Invoke-Checked az ad sp show --id $env:DEPLOY_OPERATOR_ID --query appId -o tsv
        }
        $members += , @($env:DEPLOY_OPERATOR_NAME, $operatorSqlId, $operatorKind, $env:DEPLOY_OPERATOR_NAME)
    }
    foreach ($member in $members) {
        $memberName = $member[0].Replace("'", "''")
        $memberId = $member[1]
        $memberKind = $member[2]
        $granted = Invoke-Attempts 3 {
            & sqlcmd -S $sqlHost -d $sqlDatabase --authentication-method ActiveDirectoryAzCli -b -i "$PSScriptRoot/sql/grant.sql" -v "Name=$memberName" -v "Id=$memberId" -v "Kind=$memberKind" | Out-Host
            $LASTEXITCODE -eq 0
        }
        if (-not $granted) {
            Stop-Script "$($member[3]) could not be let into the database (see above); run this again"
        }
    }

    $packages = @(, @($app, "$work/app.zip"))
    foreach ($one in @($webApp, $secondWebApp) | Where-Object { $_ }) {
        $packages += , @($one, "$work/web.zip")
    }
    foreach ($package in $packages) {
        $packageApp = $package[0]
        $packageZip = $package[1]
        Write-Step "Code to $packageApp"
        $uploaded = Invoke-Attempts 3 {
            & az functionapp deployment source config-zip -g $Group -n $packageApp --src $packageZip -o none | Out-Host
            $LASTEXITCODE -eq 0
        }
        if (-not $uploaded) {
            Stop-Script 'the package could not be deployed (see above); run this again'
        }
    }

    Write-Step 'Event subscription'
    # The host makes the key of the blob extension's webhook when it first starts with a blob trigger.
    $started = Invoke-Attempts 15 {
        [bool](& az functionapp keys list -g $Group -n $app --query systemKeys.blobs_extension -o tsv 2>$null)
    }
    if (-not $started) {
        Stop-Script "the app has not started within 5 minutes: look at it with az webapp log tail -g $Group -n $app, then run this again"
    }
    $subscribed = Invoke-Attempts 3 {
        & az deployment group create -g $Group -n "$Name-events" -f "$PSScriptRoot/events.bicep" -o none -p "appName=$app" "storageAccountName=$storage" "eventTopicName=$topic" "dropContainer=$drop" "undeliveredContainer=$undelivered" | Out-Host
        $LASTEXITCODE -eq 0
    }
    if (-not $subscribed) {
        Stop-Script "Event Grid could not reach the app's webhook (see above); run this again"
    }

    $secondRegion = ''
    if ($secondWebApp) {
        $secondRegion = @"

The same API in ${env:DEPLOY_SECOND_LOCATION}: $secondWebUrl. It reads Pwned Passwords from $replica, once hibp has copied them there:
   `$env:HIBP_PASSWORDS_REPLICAS = '$replica'
   hibp passwords replicate

"@
    }
    Write-Step "Done. Drop a zip into container $drop of ${storage}:"
    Write-Host @"
   az storage blob upload --auth-mode login --account-name $storage -c $drop -n NAME.zip -f NAME.zip

or, with hibp, which says how it gets on:
   `$env:HIBP_STORAGE = '$storage'; `$env:HIBP_DATABASE = '$sqlConnection'
   hibp drop NAME.zip --title NAME
   hibp status --watch
(SQL lets through only Azure's addresses and those you allow: az sql server firewall-rule create -g $Group -s $sqlServer -n me --start-ip-address IP --end-ip-address IP)

The API, for whoever has a key (hibp keys create NAME): $(if ($webUrl) { $webUrl } else { 'not deployed' })
$secondRegion
Before a large load: infra/scale.ps1 up -Group $Group -Name $Name; after it: down.
"@
}
finally {
    Remove-Item -Recurse -Force $work
    if ($rule) {
        & az sql server firewall-rule delete -g $Group -s $sqlServer -n $rule | Out-Null
        if ($LASTEXITCODE -ne 0) {
            [Console]::Error.WriteLine("deploy: firewall rule $rule of $sqlServer is still there; delete it")
        }
    }
}
