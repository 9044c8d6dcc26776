#!/usr/bin/env bash
# Deploys HibpIngest to Azure, from nothing but a subscription; may be run again at any time (new code, another size, a step that failed).
set -euo pipefail

usage() {
  cat <<'END'
Usage: infra/deploy.sh --group GROUP [options]

  -g, --group GROUP        resource group; made when it is not there
  -l, --location REGION    where to make it (az functionapp list-flexconsumption-locations)
  -s, --size SIZE          smallest (default) or full-power: the .bicepparam file beside this script
  -n, --name NAME          what names begin with: 3 to 11 lower-case letters and digits (default hibp)
      --ip ADDRESS         this machine's public address, let through SQL's firewall while the schema is set up
                           (default: asked of api.ipify.org; "none" where it is let through already, as in Cloud Shell)
  -h, --help               this

Read from the environment:
  HIBP_MAIL                needed: smtp://user:password@host:port?tls=starttls (to try it out without mails: pickup:/tmp/mail, a folder that goes with the instance)
  HIBP_MAIL_FROM           sender of the mails
  HIBP_SECRET_KEY          32 bytes in base64, for encrypted archives and clients (several with commas between: the first seals): openssl rand -base64 32
                           (default: the deployed one)
  HIBP_SUPPRESSION_KEY     32 bytes in base64, for hibp subscribers remove and forget; never changed: openssl rand -base64 32
                           (default: the deployed one; another than that is refused)
  HIBP_SERVICE_NAME, HIBP_SERVICE_ADDRESS, HIBP_SERVICE_CONTACT, HIBP_SERVICE_LOGO (https), HIBP_UNSUBSCRIBE_MAILTO
                           whose the mails are, and how to get no more of them
  HIBP_DKIM_DOMAIN, HIBP_DKIM_SELECTOR, HIBP_DKIM_KEY
                           what signs the mails, where the mail server doesn't: all three, or none
  HIBP_WEB_URL             where people reach the API, https://HOST: links are made from it (default: the web app's own address)
  DEPLOY_WEB               false: without the web app (default true); one that is there stays, to be deleted by hand
  DEPLOY_SECOND_LOCATION   region of a second web app, and of an account that Pwned Passwords are copied to and that it reads first (default: none);
                           those that are there stay, to be deleted by hand
  DEPLOY_ALERT_EMAIL         where alerts go
  DEPLOY_SQL_FREE_OFFER      true: the free monthly amount of Azure SQL (smallest, at the first deployment)
  DEPLOY_SQL_ADMIN_ID, DEPLOY_SQL_ADMIN_NAME, DEPLOY_SQL_ADMIN_TYPE
                           who administers the database, as object id, name and User, Group or Application (default: whoever is signed in);
                           whoever runs this has to be it, or a member of it
  DEPLOY_OPERATOR_ID, DEPLOY_OPERATOR_NAME, DEPLOY_OPERATOR_TYPE
                           who runs hibp, as object id, name and User, Group or ServicePrincipal (default: whoever is signed in): gets roles on zips, queues and tables,
                           and the app's role in the database; none where the app's package is
  DEPLOY_DROPPER_ID, DEPLOY_DROPPER_TYPE
                           who only drops breaches, as object id and User, Group or ServicePrincipal (default: nobody but the operator): gets a role on the
                           container breach alone
  DEPLOY_PASSWORDS_DROPPER_ID, DEPLOY_PASSWORDS_DROPPER_TYPE
                           who only drops files of password hashes, likewise: gets a role on the container passwords-import alone

Needs: az (signed in, with the right to make resources and to assign roles: Owner of the group or subscription), dotnet 10, sqlcmd (go-sqlcmd).
END
}

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'deploy: %s\n' "$*" >&2; exit 1; }

group='' location='' size=smallest name=hibp ip=''
while [ $# -gt 0 ]; do
  option=$1
  case $option in
    -h | --help) usage; exit 0 ;;
    -g | --group | -l | --location | -s | --size | -n | --name | --ip) [ $# -gt 1 ] || fail "$option needs a value (--help shows all)" ;;
    *) fail "unknown option '$option' (--help shows all)" ;;
  esac
  case $option in
    -g | --group) group=$2 ;;
    -l | --location) location=$2 ;;
    -s | --size) size=$2 ;;
    -n | --name) name=$2 ;;
    --ip) ip=$2 ;;
  esac
  shift 2
done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
[ -n "$group" ] || fail "--group is missing (--help shows all)"
[ -f "$here/$size.bicepparam" ] || fail "--size is smallest or full-power, found '$size'"
[[ $name =~ ^[a-z0-9]{3,11}$ ]] || fail "--name is 3 to 11 lower-case letters and digits, found '$name'"

[ -n "${HIBP_MAIL:-}" ] || fail "HIBP_MAIL is not set (--help says how)"

command -v az >/dev/null || fail "the Azure CLI (az) is missing: https://learn.microsoft.com/cli/azure/install-azure-cli"
command -v dotnet >/dev/null || fail "the .NET SDK 10 is missing: https://dotnet.microsoft.com/download"
command -v sqlcmd >/dev/null || fail "sqlcmd is missing: https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-download-install"
[[ $(sqlcmd --help 2>&1) == *--authentication-method* ]] || fail "this sqlcmd is the old one, without Entra sign-in by the Azure CLI: install go-sqlcmd (https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-download-install)"
account=$(az account show --query name -o tsv 2>/dev/null) || fail "nobody is signed in: az login, then az account set --subscription NAME"

work=$(mktemp -d)
rule=''
cleanup() {
  rm -rf "$work"
  [ -z "$rule" ] || az sql server firewall-rule delete -g "$group" -s "$sql_server" -n "$rule" >/dev/null || printf 'deploy: firewall rule %s of %s is still there; delete it\n' "$rule" "$sql_server" >&2
}
trap cleanup EXIT

# Roles and firewall rules take a while to arrive everywhere, and a paused database a minute to wake.
attempt() {
  local tries=$1
  shift
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    echo "   not yet; trying again in 20 seconds ($tries more times)"
    sleep 20
  done
}

say "Subscription $account: who runs this"
if [ "$(az account show --query user.type -o tsv)" = user ]; then
  runner_id=$(az ad signed-in-user show --query id -o tsv)
  runner_name=$(az ad signed-in-user show --query userPrincipalName -o tsv)
  runner_type=User
  admin_type=User
else
  runner_name=$(az account show --query user.name -o tsv)
  runner_id=$(az ad sp show --id "$runner_name" --query id -o tsv)
  runner_type=ServicePrincipal
  admin_type=Application
fi
if [ -z "${DEPLOY_OPERATOR_ID:-}" ]; then
  DEPLOY_OPERATOR_ID=$runner_id DEPLOY_OPERATOR_NAME=$runner_name DEPLOY_OPERATOR_TYPE=$runner_type
fi
[ -n "${DEPLOY_OPERATOR_NAME:-}" ] || fail "DEPLOY_OPERATOR_ID is set and DEPLOY_OPERATOR_NAME is not"
DEPLOY_OPERATOR_TYPE=${DEPLOY_OPERATOR_TYPE:-User}
export DEPLOY_NAME=$name DEPLOY_OPERATOR_ID DEPLOY_OPERATOR_TYPE
if [ -z "${DEPLOY_SQL_ADMIN_ID:-}" ]; then
  DEPLOY_SQL_ADMIN_ID=$runner_id DEPLOY_SQL_ADMIN_NAME=$runner_name DEPLOY_SQL_ADMIN_TYPE=$admin_type
fi
[ -n "${DEPLOY_SQL_ADMIN_NAME:-}" ] || fail "DEPLOY_SQL_ADMIN_ID is set and DEPLOY_SQL_ADMIN_NAME is not"
DEPLOY_SQL_ADMIN_TYPE=${DEPLOY_SQL_ADMIN_TYPE:-User}
export DEPLOY_SQL_ADMIN_ID DEPLOY_SQL_ADMIN_NAME DEPLOY_SQL_ADMIN_TYPE
echo "   $runner_name; the database is administered by $DEPLOY_SQL_ADMIN_NAME, hibp is run by $DEPLOY_OPERATOR_NAME"

say "Publishing for linux-x64"
dotnet publish "$root/src/HibpIngest.Functions" -c Release -o "$work/app" --nologo -v quiet -p:PackageFile="$work/app.zip"
dotnet publish "$root/src/HibpIngest.Functions.Api" -c Release -o "$work/web" --nologo -v quiet -p:PackageFile="$work/web.zip"

say "Resource group $group"
if [ "$(az group exists -n "$group")" != true ]; then
  [ -n "$location" ] || fail "resource group $group is not there: say where to make it with --location"
  az group create -n "$group" -l "$location" -o none
else
  # App settings are written whole: a key that is left out would be gone, and what was made under it with it.
  deployed_app=$(az functionapp list -g "$group" --query "[?starts_with(name, '$name-app-')].name" -o tsv)
  deployed() { az functionapp config appsettings list -g "$group" -n "$deployed_app" --query "[?name=='$1'].value" -o tsv; }
  if [ -n "$deployed_app" ]; then
    kept=$(deployed HIBP_SUPPRESSION_KEY)
    [ -z "$kept" ] || [ "${HIBP_SUPPRESSION_KEY:-$kept}" = "$kept" ] || fail "HIBP_SUPPRESSION_KEY is not the one that $deployed_app has, under which addresses are suppressed: leave it out, which keeps that one"
    export HIBP_SUPPRESSION_KEY=${HIBP_SUPPRESSION_KEY:-$kept}
    kept=$(deployed HIBP_SECRET_KEY)
    export HIBP_SECRET_KEY=${HIBP_SECRET_KEY:-$kept}
  fi
fi

say "Resources ($size); ten minutes the first time"
az deployment group create -g "$group" -n "$name-main" -p "$here/$size.bicepparam" -o none
output() { az deployment group show -g "$group" -n "$name-main" --query "properties.outputs.$1.value" -o tsv; }
storage=$(output storageAccountName)
drop=$(output dropContainer)
undelivered=$(output undeliveredContainer)
topic=$(output eventTopicName)
app=$(output appName)
web_app=$(output webAppName)
web_url=$(output webUrl)
second_web_app=$(output secondWebAppName)
second_web_url=$(output secondWebUrl)
replica=$(output replicaAccountName)
identity=$(output identityName)
client_id=$(output identityClientId)
sql_server=$(output sqlServerName)
sql_host=$(output sqlServerHost)
sql_database=$(output sqlDatabaseName)
sql_connection=$(output sqlConnection)

say "Schema of $sql_database on $sql_host, and who may work in it"
if [ "$ip" != none ]; then
  [ -n "$ip" ] || ip=$(curl -fsS --max-time 20 https://api.ipify.org) || fail "this machine's public address could not be found: give it with --ip"
  rule=deploy-$$
  az sql server firewall-rule create -g "$group" -s "$sql_server" -n "$rule" --start-ip-address "$ip" --end-ip-address "$ip" -o none
fi
upgrade() { dotnet run --project "$root/src/HibpIngest.Cli" -c Release -- database upgrade --database "$sql_connection"; }
# NAME ID KIND, as the script has them.
grant() {
  local quote="'"
  sqlcmd -S "$sql_host" -d "$sql_database" --authentication-method ActiveDirectoryAzCli -b -i "$here/sql/grant.sql" -v "Name=${1//$quote/$quote$quote}" -v "Id=$2" -v "Kind=$3"
}
attempt 6 upgrade || fail "the schema could not be set up (see above). Are you $DEPLOY_SQL_ADMIN_NAME, or a member? Is $ip the address SQL sees? Then run this again"
attempt 3 grant "$identity" "$client_id" E || fail "the app could not be let into the database (see above); run this again"
if [ "$DEPLOY_OPERATOR_ID" != "$DEPLOY_SQL_ADMIN_ID" ]; then
  case $DEPLOY_OPERATOR_TYPE in
    Group) operator_sql_id=$DEPLOY_OPERATOR_ID operator_kind=X ;;
    ServicePrincipal) operator_sql_id=$(az ad sp show --id "$DEPLOY_OPERATOR_ID" --query appId -o tsv) operator_kind=E ;;
    *) operator_sql_id=$DEPLOY_OPERATOR_ID operator_kind=E ;;
  esac
  attempt 3 grant "$DEPLOY_OPERATOR_NAME" "$operator_sql_id" "$operator_kind" || fail "$DEPLOY_OPERATOR_NAME could not be let into the database (see above); run this again"
fi

upload() { attempt 3 az functionapp deployment source config-zip -g "$group" -n "$1" --src "$2" -o none || fail "the package could not be deployed (see above); run this again"; }
say "Code to $app"
upload "$app" "$work/app.zip"
for one in $web_app $second_web_app; do
  say "Code to $one"
  upload "$one" "$work/web.zip"
done

say "Event subscription"
# The host makes the key of the blob extension's webhook when it first starts with a blob trigger.
has_key() { [ -n "$(az functionapp keys list -g "$group" -n "$app" --query systemKeys.blobs_extension -o tsv 2>/dev/null)" ]; }
attempt 15 has_key || fail "the app has not started within 5 minutes: look at it with az webapp log tail -g $group -n $app, then run this again"
subscribe() {
  az deployment group create -g "$group" -n "$name-events" -f "$here/events.bicep" -o none \
    -p "appName=$app" "storageAccountName=$storage" "eventTopicName=$topic" "dropContainer=$drop" "undeliveredContainer=$undelivered"
}
attempt 3 subscribe || fail "Event Grid could not reach the app's webhook (see above); run this again"

second_region=''
[ -z "$second_web_app" ] || second_region="
The same API in $DEPLOY_SECOND_LOCATION: $second_web_url. It reads Pwned Passwords from $replica, once hibp has copied them there:
   export HIBP_PASSWORDS_REPLICAS=$replica
   hibp passwords replicate
"
say "Done. Drop a zip into container $drop of $storage:"
cat <<END
   az storage blob upload --auth-mode login --account-name $storage -c $drop -n NAME.zip -f NAME.zip

or, with hibp, which says how it gets on:
   export HIBP_STORAGE=$storage HIBP_DATABASE='$sql_connection'
   hibp drop NAME.zip --title NAME
   hibp status --watch
(SQL lets through only Azure's addresses and those you allow: az sql server firewall-rule create -g $group -s $sql_server -n me --start-ip-address IP --end-ip-address IP)

The API, for whoever has a key (hibp keys create NAME): ${web_url:-not deployed}
${second_region}
Before a large load: infra/scale.sh up --group $group --name $name; after it: down.
END
