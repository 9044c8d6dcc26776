#!/usr/bin/env bash
# Deploys HibpIngest into an Azure subscription. It can be run again at any time: for new code, another size,
# or after a failed step.
set -euo pipefail

usage() {
  cat <<'END'
Usage: infra/deploy.sh --group GROUP [options]

  -g, --group GROUP        resource group; created if it does not exist
  -l, --location REGION    region of a new resource group (az functionapp list-flexconsumption-locations)
  -s, --size SIZE          smallest (default) or full-power: a .bicepparam file in this script's folder
  -n, --name NAME          prefix of all names: 3 to 11 lower-case letters and digits (default hibp)
      --ip ADDRESS         this machine's public address, allowed through the SQL firewall while the schema is set up
                           (default: queried from api.ipify.org; "none" if it has access already, as in Cloud Shell)
  -h, --help               show this help

Environment variables:
  HIBP_MAIL                required: smtp://user:password@host:port?tls=starttls
                           (to test without sending mails: pickup:/tmp/mail, a folder that is lost with the instance)
  HIBP_MAIL_FROM           sender of the mails
  HIBP_SECRET_KEY          32 bytes in base64 (openssl rand -base64 32), for encrypted archives and clients; or several
                           keys separated by commas, the first of which seals (default: the deployed key)
  HIBP_SUPPRESSION_KEY     32 bytes in base64 (openssl rand -base64 32), for hibp subscribers remove and forget; must never
                           change (default: the deployed key; a different key is refused)
  HIBP_SERVICE_NAME, HIBP_SERVICE_ADDRESS, HIBP_SERVICE_CONTACT, HIBP_SERVICE_LOGO (https), HIBP_UNSUBSCRIBE_MAILTO
                           the sender that the mails name, and the address for unsubscribing
  HIBP_DKIM_DOMAIN, HIBP_DKIM_SELECTOR, HIBP_DKIM_KEY
                           key that signs the mails, if the mail server doesn't: all three, or none
  HIBP_WEB_URL             public address of the API, https://HOST, from which links are made
                           (default: the web app's own address)
  HIBP_LINK_KEYS, HIBP_TICKET_KEY
                           keys of 32 bytes in base64 (openssl rand -base64 32) that turn on the pages for people
                           (default: the deployed keys; none: no pages)
  HIBP_COMMAND_KEY, HIBP_COMMAND_PUBLIC_KEY
                           the two keys (hibp keys generate) with which people can subscribe; they need the three keys above,
                           too (default: the deployed keys; none: nobody can subscribe)
  DEPLOY_WEB               false: no web app (default true); an existing web app stays until you delete it
  DEPLOY_SECOND_LOCATION   region of a second web app, and of an account with a copy of Pwned Passwords, which that app
                           reads first (default: none); existing ones stay until you delete them
  DEPLOY_ALERT_EMAIL       recipient of alerts
  DEPLOY_SQL_FREE_OFFER    true: use the free monthly amount of Azure SQL (smallest, at the first deployment)
  DEPLOY_SQL_ADMIN_ID, DEPLOY_SQL_ADMIN_NAME, DEPLOY_SQL_ADMIN_TYPE
                           administrator of the database: object id, name and User, Group or Application (default: the
                           signed-in identity); the identity that runs this script must be it or a member of it
  DEPLOY_OPERATOR_ID, DEPLOY_OPERATOR_NAME, DEPLOY_OPERATOR_TYPE
                           principal that runs hibp: object id, name and User, Group or ServicePrincipal (default: the
                           signed-in identity); gets roles on zips, queues and tables, and the app's role in the database,
                           but no role on the account of the app's package
  DEPLOY_DROPPER_ID, DEPLOY_DROPPER_TYPE
                           principal that may only drop breaches: object id and User, Group or ServicePrincipal (default:
                           only the operator may drop); gets a role on the container breach only
  DEPLOY_PASSWORDS_DROPPER_ID, DEPLOY_PASSWORDS_DROPPER_TYPE
                           principal that may only drop files of password hashes, in the same form; gets a role on the
                           container passwords-import only

Requires az (signed in, with permission to create resources and assign roles: Owner of the group or subscription),
dotnet 10 and sqlcmd (go-sqlcmd).
END
}

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'deploy: %s\n' "$*" >&2; exit 1; }

group='' location='' size=smallest name=hibp ip=''
while [ $# -gt 0 ]; do
  option=$1
  case $option in
    -h | --help) usage; exit 0 ;;
    -g | --group | -l | --location | -s | --size | -n | --name | --ip) [ $# -gt 1 ] || fail "$option requires a value (see --help)" ;;
    *) fail "unknown option '$option' (see --help)" ;;
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
[ -n "$group" ] || fail "--group is required (see --help)"
[ -f "$here/$size.bicepparam" ] || fail "--size: expected smallest or full-power, found '$size'"
[[ $name =~ ^[a-z0-9]{3,11}$ ]] || fail "--name: expected 3 to 11 lower-case letters and digits, found '$name'"

[ -n "${HIBP_MAIL:-}" ] || fail "HIBP_MAIL is not set (see --help)"

command -v az >/dev/null || fail "the Azure CLI (az) is not installed: https://learn.microsoft.com/cli/azure/install-azure-cli"
command -v dotnet >/dev/null || fail "the .NET SDK 10 is not installed: https://dotnet.microsoft.com/download"
command -v sqlcmd >/dev/null || fail "sqlcmd is not installed: https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-download-install"
[[ $(sqlcmd --help 2>&1) == *--authentication-method* ]] || fail "this sqlcmd can't sign in through the Azure CLI: install go-sqlcmd (https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-download-install)"
account=$(az account show --query name -o tsv 2>/dev/null) || fail "not signed in to Azure: run az login, then az account set --subscription NAME"

work=$(mktemp -d)
rule=''
cleanup() {
  rm -rf "$work"
  [ -z "$rule" ] || az sql server firewall-rule delete -g "$group" -s "$sql_server" -n "$rule" >/dev/null || printf 'deploy: firewall rule %s of %s could not be deleted; delete it by hand\n' "$rule" "$sql_server" >&2
}
trap cleanup EXIT

# Retries, because roles and firewall rules take a while to take effect, and a paused database takes a minute
# to resume.
attempt() {
  local tries=$1
  shift
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    echo "   failed; retrying in 20 seconds (attempts left: $tries)"
    sleep 20
  done
}

say "Subscription $account: signed-in identity"
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
echo "   $runner_name (administrator of the database: $DEPLOY_SQL_ADMIN_NAME; operator: $DEPLOY_OPERATOR_NAME)"

say "Publishing for linux-x64"
dotnet publish "$root/src/HibpIngest.Functions" -c Release -o "$work/app" --nologo -v quiet -p:PackageFile="$work/app.zip"
dotnet publish "$root/src/HibpIngest.Functions.Api" -c Release -o "$work/web" --nologo -v quiet -p:PackageFile="$work/web.zip"

say "Resource group $group"
if [ "$(az group exists -n "$group")" != true ]; then
  [ -n "$location" ] || fail "resource group $group does not exist: pass --location to create it"
  az group create -n "$group" -l "$location" -o none
else
  # A deployment replaces all app settings. Omitting a key would delete it, and with it the use of everything
  # created under it.
  deployed_app=$(az functionapp list -g "$group" --query "[?starts_with(name, '$name-app-')].name" -o tsv)
  deployed() { az functionapp config appsettings list -g "$group" -n "$deployed_app" --query "[?name=='$1'].value" -o tsv; }
  if [ -n "$deployed_app" ]; then
    kept=$(deployed HIBP_SUPPRESSION_KEY)
    [ -z "$kept" ] || [ "${HIBP_SUPPRESSION_KEY:-$kept}" = "$kept" ] || fail "HIBP_SUPPRESSION_KEY differs from the key of $deployed_app, under which addresses are suppressed: unset it to keep the deployed key"
    export HIBP_SUPPRESSION_KEY=${HIBP_SUPPRESSION_KEY:-$kept}
    kept=$(deployed HIBP_SECRET_KEY)
    export HIBP_SECRET_KEY=${HIBP_SECRET_KEY:-$kept}
    kept=$(deployed HIBP_COMMAND_KEY)
    export HIBP_COMMAND_KEY=${HIBP_COMMAND_KEY:-$kept}
  fi
  deployed_app=$(az functionapp list -g "$group" --query "[?starts_with(name, '$name-web-')].name" -o tsv)
  if [ -n "$deployed_app" ]; then
    kept=$(deployed HIBP_LINK_KEYS)
    export HIBP_LINK_KEYS=${HIBP_LINK_KEYS:-$kept}
    kept=$(deployed HIBP_TICKET_KEY)
    export HIBP_TICKET_KEY=${HIBP_TICKET_KEY:-$kept}
    kept=$(deployed HIBP_COMMAND_PUBLIC_KEY)
    export HIBP_COMMAND_PUBLIC_KEY=${HIBP_COMMAND_PUBLIC_KEY:-$kept}
  fi
fi

say "Deploying resources ($size); the first time takes ten minutes"
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

say "Schema of $sql_database on $sql_host, and access to it"
if [ "$ip" != none ]; then
  [ -n "$ip" ] || ip=$(curl -fsS --max-time 20 https://api.ipify.org) || fail "could not determine this machine's public address: pass it with --ip"
  rule=deploy-$$
  az sql server firewall-rule create -g "$group" -s "$sql_server" -n "$rule" --start-ip-address "$ip" --end-ip-address "$ip" -o none
fi
upgrade() { dotnet run --project "$root/src/HibpIngest.Cli" -c Release -- database upgrade --database "$sql_connection"; }
# Arguments: NAME ID KIND, the variables of grant.sql.
grant() {
  local quote="'"
  sqlcmd -S "$sql_host" -d "$sql_database" --authentication-method ActiveDirectoryAzCli -b -i "$here/sql/grant.sql" -v "Name=${1//$quote/$quote$quote}" -v "Id=$2" -v "Kind=$3"
}
attempt 6 upgrade || fail "could not set up the schema (see above). Check that you are $DEPLOY_SQL_ADMIN_NAME or a member of it, and that SQL sees this machine as $ip; then run this script again"
attempt 3 grant "$identity" "$client_id" E || fail "could not grant the app access to the database (see above); run this script again"
if [ "$DEPLOY_OPERATOR_ID" != "$DEPLOY_SQL_ADMIN_ID" ]; then
  case $DEPLOY_OPERATOR_TYPE in
    Group) operator_sql_id=$DEPLOY_OPERATOR_ID operator_kind=X ;;
    ServicePrincipal) operator_sql_id=$(az ad sp show --id "$DEPLOY_OPERATOR_ID" --query appId -o tsv) operator_kind=E ;;
    *) operator_sql_id=$DEPLOY_OPERATOR_ID operator_kind=E ;;
  esac
  attempt 3 grant "$DEPLOY_OPERATOR_NAME" "$operator_sql_id" "$operator_kind" || fail "could not grant $DEPLOY_OPERATOR_NAME access to the database (see above); run this script again"
fi

upload() { attempt 3 az functionapp deployment source config-zip -g "$group" -n "$1" --src "$2" -o none || fail "could not deploy the package (see above); run this script again"; }
say "Uploading code to $app"
upload "$app" "$work/app.zip"
for one in $web_app $second_web_app; do
  say "Uploading code to $one"
  upload "$one" "$work/web.zip"
done

say "Event subscription"
# The host creates the key of the blob extension's webhook when it first starts with a blob trigger.
has_key() { [ -n "$(az functionapp keys list -g "$group" -n "$app" --query systemKeys.blobs_extension -o tsv 2>/dev/null)" ]; }
attempt 15 has_key || fail "the app did not start within 5 minutes: check its log with az webapp log tail -g $group -n $app, then run this script again"
subscribe() {
  az deployment group create -g "$group" -n "$name-events" -f "$here/events.bicep" -o none \
    -p "appName=$app" "storageAccountName=$storage" "eventTopicName=$topic" "dropContainer=$drop" "undeliveredContainer=$undelivered"
}
attempt 3 subscribe || fail "Event Grid could not reach the app's webhook (see above); run this script again"

second_region=''
[ -z "$second_web_app" ] || second_region="
The same API in $DEPLOY_SECOND_LOCATION: $second_web_url. It reads Pwned Passwords from $replica, once hibp has copied them there:
   export HIBP_PASSWORDS_REPLICAS=$replica
   hibp passwords replicate
"
say "Done. Drop a zip into container $drop of $storage:"
cat <<END
   az storage blob upload --auth-mode login --account-name $storage -c $drop -n NAME.zip -f NAME.zip

or use hibp, which shows the progress:
   export HIBP_STORAGE=$storage HIBP_DATABASE='$sql_connection'
   hibp drop NAME.zip --title NAME
   hibp status --watch
(The SQL firewall allows only addresses of Azure and those that you add: az sql server firewall-rule create -g $group -s $sql_server -n me --start-ip-address IP --end-ip-address IP)

The API (create keys with hibp keys create NAME): ${web_url:-not deployed}
${second_region}
Before a large load, run infra/scale.sh up --group $group --name $name; after it, run it with down.
END
