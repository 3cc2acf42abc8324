# PILLAR explorer on the CPU: `docker build -t pillar-explorer .`, then
# docker run --rm --read-only --tmpfs /tmp -v pillar-cache:/cache -p 127.0.0.1:8501:8501 pillar-explorer
# Others reach it through a proxy: docs/operate.md. Built by its steps in a plain Debian root so far, not by docker itself.
FROM python:3.11-slim-bookworm

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1 HOME=/tmp PILLAR_CACHE=/cache

# Without CUDA and triton the installation takes 1.7 GB in place of 6.9.
COPY requirements.txt /src/
RUN pip install --index-url "$TORCH_INDEX" "torch>=2.14,<3" "torchvision>=0.29,<1" && pip install -r /src/requirements.txt

COPY pyproject.toml README.md LICENSE app.py /src/
COPY .streamlit /src/.streamlit
COPY pages /src/pages
COPY pillar_core /src/pillar_core
COPY cache/starter /src/cache/starter
RUN pip install --no-deps /src && rm -rf /src \
    && useradd --system --uid 10001 --no-create-home pillar && mkdir /cache && chmod 1777 /cache

USER 10001
VOLUME /cache
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/ready', timeout=4)"]
ENTRYPOINT ["pillar-explorer", "--headless", "--bind", "0.0.0.0"]
CMD ["--demo"]
