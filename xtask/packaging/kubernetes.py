"""Checks the manifests of folders: `kubernetes.py FOLDER...`. Each one is valid by the schema of the API, and what they say
of each other is true: names, labels, ports and volumes. Containers have no privileges."""

import sys
from pathlib import Path

import kubernetes_validate
import yaml

VERSION = "1.34"
# Kinds that are not part of Kubernetes, with the keys of their specification that are used.
CUSTOM = {"ServiceMonitor": {"selector", "jobLabel", "endpoints"}}


def check(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def load(folder):
    """The manifests that a kustomization names, with those of the kustomizations that it names."""
    folder = folder.resolve()
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    check(kustomization["kind"] == "Kustomization", f"{folder}: not a kustomization")
    manifests, labels = [], {}
    for name in kustomization["resources"]:
        path = folder / name
        manifests += load(path) if path.is_dir() else yaml.safe_load_all(path.read_text())
    listed = {folder / name for name in kustomization["resources"]} | {folder / "kustomization.yaml"}
    for path in folder.glob("*.yaml"):
        check(path in listed, f"{path} is not in the kustomization")
    for generator in kustomization.get("configMapGenerator", []):
        files = {name: (folder / name).read_text() for name in generator["files"]}
        metadata = {"name": generator["name"]}
        manifests.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": files})
    for entry in kustomization.get("labels", []):
        labels |= entry["pairs"]
    for manifest in manifests:
        manifest["metadata"]["labels"] = labels | manifest["metadata"].get("labels", {})
    return manifests


def validate(manifest):
    kind = manifest["kind"]
    if kind in CUSTOM:
        unknown = set(manifest["spec"]) - CUSTOM[kind]
        check(not unknown, f"{kind}: unknown keys {unknown}")
    else:
        kubernetes_validate.validate(manifest, VERSION, strict=True)


def matches(selector, labels):
    return bool(selector) and selector.items() <= labels.items()


def check_container(container, ports, volumes):
    name, security = container["name"], container["securityContext"]
    check(security["readOnlyRootFilesystem"], f"{name} can write to its image")
    check(not security["allowPrivilegeEscalation"], f"{name} can get privileges")
    check(security["capabilities"] == {"drop": ["ALL"]}, f"{name} has capabilities")
    check("memory" in container["resources"]["limits"], f"{name} has no limit of memory")
    for mount in container["volumeMounts"]:
        check(mount["name"] in volumes, f"{name}: there is no volume {mount['name']}")
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
        port = container.get(probe, {}).get("httpGet", {}).get("port")
        check(port is None or port in ports, f"{name}: there is no port {port}")


def check_secrets(container, secrets):
    """Checks the variables that a container has from secrets."""
    for source in container.get("envFrom", []):
        check(source["secretRef"]["name"] in secrets, f"there is no secret {source['secretRef']['name']}")
    for variable in container.get("env", []):
        key = variable.get("valueFrom", {}).get("secretKeyRef")
        check(key is None or key["key"] in secrets.get(key["name"], []), f"there is no secret for {variable['name']}")


def containers_of(workload):
    pod = workload["spec"]["template"]["spec"]
    return pod.get("initContainers", []) + pod["containers"]


def labels_of(workload):
    return workload["spec"]["template"]["metadata"]["labels"]


def ports_of(workload):
    return {port["name"] for container in containers_of(workload) for port in container.get("ports", [])}


def check_workload(workload, names, secrets):
    """Checks the containers of a workload, and what they refer to."""
    spec, ports = workload["spec"], ports_of(workload)
    pod = spec["template"]["spec"]
    claims = {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
    volumes = {volume["name"] for volume in pod["volumes"]} | claims
    for container in containers_of(workload):
        check_container(container, ports, volumes)
        check_secrets(container, secrets)
    check(pod["securityContext"]["runAsNonRoot"], "the pod runs as root")
    check(not pod["automountServiceAccountToken"], "the pod has a token of the API")
    for volume in pod["volumes"]:
        config = volume.get("configMap", {}).get("name")
        check(config is None or ("ConfigMap", config) in names, f"there is no ConfigMap {config}")
    check(("ServiceAccount", pod["serviceAccountName"]) in names, "there is no such account")
    service = spec.get("serviceName")
    check(service is None or ("Service", service) in names, f"there is no service {service}")
    check(matches(spec["selector"]["matchLabels"], labels_of(workload)), "the selector of the workload")
    check_spreading(workload)


def check_spreading(workload):
    """Several pods of a workload are on different nodes, and not all of them are stopped together."""
    pod, labels = workload["spec"]["template"]["spec"], labels_of(workload)
    rules = pod.get("affinity", {}).get("podAntiAffinity", {})
    terms = rules.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    terms = terms + [rule["podAffinityTerm"] for rule in preferred] + pod.get("topologySpreadConstraints", [])
    for term in terms:
        check(matches(term["labelSelector"]["matchLabels"], labels), "a rule about nodes is for other pods")
    nodes = [term for term in terms if term["topologyKey"] == "kubernetes.io/hostname"]
    check(workload["spec"]["replicas"] == 1 or nodes, f"{workload['metadata']['name']} may be on one node")


def check_references(manifests):
    names = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests}
    check(len(names) == len(manifests), "two manifests have the same name")
    of_kind = lambda *kinds: [manifest for manifest in manifests if manifest["kind"] in kinds]
    secrets = {secret["metadata"]["name"]: secret["stringData"] for secret in of_kind("Secret")}
    workloads = of_kind("StatefulSet", "Deployment")

    def selected(selector, what):
        """The workload that a selector means."""
        found = [workload for workload in workloads if matches(selector, labels_of(workload))]
        check(len(found) == 1, f"{what} selects {len(found)} workloads")
        return found[0]

    for workload in workloads:
        check_workload(workload, names, secrets)
        budgets = [budget["spec"] for budget in of_kind("PodDisruptionBudget")]
        budgets = [budget for budget in budgets if matches(budget["selector"]["matchLabels"], labels_of(workload))]
        few = 0 if workload["spec"]["replicas"] == 1 else 1
        check([budget["maxUnavailable"] for budget in budgets] == [few], "the budget of disruptions")
    for budget in of_kind("PodDisruptionBudget"):
        selected(budget["spec"]["selector"]["matchLabels"], "the budget")
    for service in of_kind("Service"):
        ports = ports_of(selected(service["spec"]["selector"], "the service"))
        for port in service["spec"]["ports"]:
            check(port["targetPort"] in ports, f"there is no port {port['targetPort']}")
    for policy in of_kind("NetworkPolicy"):
        check_policy(policy["spec"], selected)
    for monitor in of_kind("ServiceMonitor"):
        check_monitor(monitor["spec"], of_kind("Service"))


def check_policy(policy, selected):
    """Checks that a network policy is about pods and ports that exist."""
    ports = ports_of(selected(policy["podSelector"]["matchLabels"], "the policy"))
    for rule in policy.get("ingress", []):
        check({port["port"] for port in rule["ports"]} <= ports, "a port of the policy")
        for peer in rule["from"]:
            if "namespaceSelector" not in peer:
                selected(peer["podSelector"]["matchLabels"], "a source of the policy")
    for rule in policy.get("egress", []):
        for peer in rule["to"]:
            if "podSelector" in peer and "namespaceSelector" not in peer:
                target = selected(peer["podSelector"]["matchLabels"], "a destination of the policy")
                numbers = {port["containerPort"] for one in containers_of(target) for port in one.get("ports", [])}
                check({port["port"] for port in rule["ports"]} <= numbers | ports_of(target), "a port of the policy")


def check_monitor(monitor, services):
    labels = monitor["selector"]["matchLabels"]
    services = [service for service in services if matches(labels, service["metadata"]["labels"])]
    check(services, "the monitor selects no service")
    for service in services:
        of_service = {port["name"] for port in service["spec"]["ports"]}
        check({endpoint["port"] for endpoint in monitor["endpoints"]} <= of_service, "a port of the monitor")


def check_same_pods(one, other):
    """The pods of two folders differ only in where they are placed, in their state, in further secrets, and in how they stop."""
    def pod(folder):
        [workload] = [manifest for manifest in load(folder) if manifest["metadata"]["name"] == "larder"
                      and manifest["kind"] in ["StatefulSet", "Deployment"]]
        spec = workload["spec"]["template"]["spec"]
        for key in ["affinity", "topologySpreadConstraints"]:
            spec.pop(key, None)
        spec["volumes"] = [volume for volume in spec["volumes"] if volume["name"] != "state"]
        spec["containers"][0]["envFrom"] = []
        spec["containers"][0].pop("lifecycle", None)
        return spec
    check(pod(one) == pod(other), f"the pods of {one} and {other} differ")


def main():
    folders = [Path(folder) for folder in sys.argv[1:]]
    for folder in folders:
        manifests = load(folder)
        for manifest in manifests:
            validate(manifest)
        check_references(manifests)
        print(f"{folder}: {len(manifests)} manifests are valid")
    check_same_pods(folders[0].parent / "base", folders[0].parent / "replicas")


main()
